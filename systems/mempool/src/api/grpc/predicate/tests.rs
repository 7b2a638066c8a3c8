use utxorpc_spec::utxorpc::v1alpha::cardano::{
    AddressPattern, AssetPattern, CertificatePattern, TxOutputPattern, TxPattern,
};
use utxorpc_spec::utxorpc::v1alpha::submit::AnyChainTxPattern;

use super::*;
use crate::model::{Input, TxHash};
use crate::ports::transaction;

fn of(pattern: TxPattern) -> TxPredicate {
    let chain = Some(Chain::Cardano(pattern));
    TxPredicate { r#match: Some(AnyChainTxPattern { chain }), ..TxPredicate::default() }
}

fn always() -> TxPredicate {
    of(TxPattern::default())
}

/// The transaction below makes no outputs.
fn never() -> TxPredicate {
    of(TxPattern { produces: Some(TxOutputPattern::default()), ..TxPattern::default() })
}

fn matches(predicate: &TxPredicate) -> bool {
    let bytes = transaction(Input { tx: TxHash::new([3; 32]), index: 2 }, 170_000, b"anything");
    Predicate::read(predicate).unwrap().matches(&MultiEraTx::decode(&bytes).unwrap())
}

#[test]
fn the_parts_of_a_predicate_hold_together() {
    let none = TxPredicate::default;
    assert!(matches(&none()) && matches(&always()) && !matches(&never()));
    assert!(matches(&TxPredicate { not: vec![never(), never()], ..none() }));
    assert!(!matches(&TxPredicate { not: vec![never(), always()], ..none() }));
    assert!(matches(&TxPredicate { all_of: vec![always(), none()], ..none() }));
    assert!(!matches(&TxPredicate { all_of: vec![always(), never()], ..none() }));
    assert!(matches(&TxPredicate { any_of: vec![never(), always()], ..none() }));
    assert!(!matches(&TxPredicate { any_of: vec![never(), never()], ..none() }));
    assert!(!matches(&TxPredicate { any_of: vec![always()], ..never() }), "the pattern counts too");
    assert!(matches(&TxPredicate { not: vec![TxPredicate { not: vec![always()], ..none() }], ..none() }));
}

#[test]
fn what_the_bytes_do_not_decide_is_refused_wherever_it_stands() {
    let place = AddressPattern { payment_part: vec![1; 28].into(), ..AddressPattern::default() };
    let spent = Some(TxOutputPattern { address: Some(place.clone()), ..TxOutputPattern::default() });
    let consumes = of(TxPattern { consumes: spent, ..TxPattern::default() });
    let address = of(TxPattern { has_address: Some(place), ..TxPattern::default() });
    for asked in [consumes, address] {
        let deep = TxPredicate { not: vec![asked.clone()], ..always() };
        for asked in [asked, TxPredicate { any_of: vec![always(), deep], ..TxPredicate::default() }] {
            assert!(matches!(Predicate::read(&asked), Err(Unfit::Spent(_))), "{asked:?}");
        }
    }
    let spends = TxPattern { consumes: Some(TxOutputPattern::default()), ..TxPattern::default() };
    assert!(matches(&of(spends)), "everything spends something");
    let certificates =
        of(TxPattern { has_certificate: Some(CertificatePattern::default()), ..TxPattern::default() });
    assert_eq!(Predicate::read(&certificates), Err(Unfit::Certificates));
    let nowhere = TxPredicate { r#match: Some(AnyChainTxPattern::default()), ..TxPredicate::default() };
    assert_eq!(Predicate::read(&nowhere), Err(Unfit::Chain));
}

#[test]
fn what_could_never_match_is_refused() {
    let policy = AssetPattern { policy_id: vec![1; 27].into(), ..AssetPattern::default() };
    let name = AssetPattern { asset_name: vec![1; 33].into(), ..AssetPattern::default() };
    for asset in [policy, name] {
        let moves = of(TxPattern { moves_asset: Some(asset.clone()), ..TxPattern::default() });
        let mints = of(TxPattern { mints_asset: Some(asset.clone()), ..TxPattern::default() });
        let output = TxOutputPattern { asset: Some(asset), ..TxOutputPattern::default() };
        let produces = of(TxPattern { produces: Some(output), ..TxPattern::default() });
        for asked in [moves, mints, produces] {
            assert!(matches!(Predicate::read(&asked), Err(Unfit::Length { .. })), "{asked:?}");
        }
    }
    let many = TxPredicate { any_of: vec![always(); MOST_PARTS], ..TxPredicate::default() };
    assert_eq!(Predicate::read(&many), Err(Unfit::TooMany(MOST_PARTS)));
}
