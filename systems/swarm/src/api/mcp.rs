//! The operations as tools of the Model Context Protocol: over standard input and output, and over HTTP at `/mcp`.
//!
//! A tool is an operation. What it answers comes as structured content and as the same in text; a refusal comes as a result with
//! `isError`, so that the model reads its code and what to do. No sessions: all state is in the store, any process may answer.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use keyplane_http::Operation;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService, stdio};
use rmcp::{ErrorData, RoleServer, ServerHandler, serve_server};
use serde_json::{Value, json};

use super::http::schema;
use super::op::Op;
use super::{Desk, operation, operations};

const PATH: &str = "/mcp";

const INSTRUCTIONS: &str = "State of agent swarms. A swarm is created (swarm_create), gets agents (agent_register) and tasks (task_create), and \
     is set running (swarm_update). An agent claims a task (task_claim), keeps the fence number that it is answered, reports \
     with it (task_progress, task_complete, task_fail), and says at least once a minute that it is alive (agent_heartbeat). \
     Validators vote in rounds (consensus_open, consensus_vote, consensus_close). Refusals have a code and say what to do.";

/// The tools of a desk.
#[derive(Debug, Clone)]
pub struct Tools {
    desk: Desk,
}

/// Why tools are no longer served.
#[derive(Debug, thiserror::Error)]
#[error("MCP over standard input and output ended: {0}")]
pub struct Broken(String);

impl Tools {
    /// The tools of this desk.
    #[must_use]
    pub fn new(desk: Desk) -> Self {
        Self { desk }
    }

    /// Serves one client over standard input and output, until it is gone. Nothing else may write there.
    pub async fn serve_stdio(self) -> Result<(), Broken> {
        let broken = |error: &dyn std::fmt::Display| Broken(error.to_string());
        let running = serve_server(self, stdio()).await.map_err(|error| broken(&error))?;
        running.waiting().await.map(drop).map_err(|error| broken(&error))
    }

    /// The route. Who may come in is the door's to say, so it is not asked twice.
    pub(super) fn routes(self) -> Router {
        // One route for all tools: what the one takes that is given most.
        let most = operations().map(Op::most_request).max().unwrap_or_default();
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts()
            .with_max_request_body_bytes(most);
        let sessions = Arc::new(NeverSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(self.clone()), sessions, config);
        Router::new().route_service(PATH, service)
    }

    fn tool(&self, op: &'static Op) -> Tool {
        let schema = match schema(op, self.desk.swarms.contract(), |_| true) {
            Value::Object(schema) => schema,
            _ => Default::default(),
        };
        let annotations = ToolAnnotations::with_title(op.summary).read_only(op.reads()).open_world(false);
        // What is changed can be seen in the log; nothing is destroyed but by ending a swarm.
        let annotations = match op.reads() {
            true => annotations,
            false => annotations.destructive(op.name == "swarm_complete"),
        };
        let description = format!("{}. {}", op.summary, op.promise);
        Tool::new(op.name, description, schema).with_title(op.summary).with_annotations(annotations)
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("keyplane-swarm", env!("CARGO_PKG_VERSION"));
        info.with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(operations().map(|op| self.tool(op)).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        operation(name).map(|op| self.tool(op))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(op) = operation(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        let result = match op.carry_out(&self.desk, request.arguments.unwrap_or_default()).await {
            Ok(told) => CallToolResult::structured(told),
            Err(refused) => CallToolResult::structured_error(refused.told()),
        };
        Ok(result.into())
    }
}

/// The route in words.
pub(super) fn described() -> Operation {
    let message = json!({ "type": "object", "description": "A message of JSON-RPC 2.0." });
    Operation::post(PATH, "Every operation as a tool of the Model Context Protocol")
        .describe("Streamable HTTP, without sessions. `tools/list` describes the tools.")
        .takes("application/json", message.clone())
        .answers(StatusCode::OK, "The answer to a request.", "application/json", message)
        .ends(StatusCode::ACCEPTED, "A notification was taken.")
}
