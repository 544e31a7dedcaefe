import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { initial } from "./migrations/0001_initial.js"
import { keptEvents } from "./migrations/0002_kept_events.js"
import { handsOnTurns } from "./migrations/0003_hands_on_turns.js"
import { knownClients } from "./migrations/0003_known_clients.js"
import { labelsAndUsage } from "./migrations/0003_labels_and_usage.js"
import { sessionDisk } from "./migrations/0003_session_disk.js"
import { boundCredentials } from "./migrations/0004_bound_credentials.js"
import { modelCalls } from "./migrations/0005_model_calls.js"
import { budgets } from "./migrations/0006_budgets.js"
import { projectSetup } from "./migrations/0007_project_setup.js"
import { workspaceEvents } from "./migrations/0008_workspace_events.js"
import { webhooks } from "./migrations/0009_webhooks.js"
import { webhookTests } from "./migrations/0010_webhook_tests.js"
import { budgetQuestions } from "./migrations/0011_budget_questions.js"
import { nodes } from "./migrations/0012_nodes.js"
import { snapshots } from "./migrations/0013_snapshots.js"
import { severalMachines } from "./migrations/0014_several_machines.js"
import { sharedLimits } from "./migrations/0015_shared_limits.js"
import { releases } from "./migrations/0016_releases.js"
import { sparseIndexes } from "./migrations/0017_sparse_indexes.js"
import { answerPlaces } from "./migrations/0018_answer_places.js"
import { allowedObstacles } from "./migrations/0019_allowed_obstacles.js"
import { sparseCheckouts } from "./migrations/0020_sparse_checkouts.js"
import { expand, original, type Step, statements } from "./Step.js"

/** The steps of the schema in their order, by number and name. A new one is `expand` or `contract`, as CONTRIBUTING.md says. */
export const steps: Readonly<Record<string, Step>> = {
  "0001_initial": original(statements(initial)),
  "0002_kept_events": original(statements(keptEvents)),
  "0003_labels_and_usage": original(
    Effect.zipRight(labelsAndUsage, statements([...handsOnTurns, ...knownClients, ...sessionDisk]))
  ),
  "0004_bound_credentials": original(statements(boundCredentials)),
  "0005_model_calls": original(statements(modelCalls)),
  "0006_budgets": original(statements(budgets)),
  "0007_project_setup": original(statements(projectSetup)),
  "0008_workspace_events": original(workspaceEvents),
  "0009_webhooks": original(statements(webhooks)),
  "0010_webhook_tests": original(
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql.onDialectOrElse({
        pg: () => statements(webhookTests.pg),
        orElse: () => statements(webhookTests.sqlite)
      })
    )
  ),
  "0011_budget_questions": original(statements(budgetQuestions)),
  "0012_nodes": original(statements(nodes)),
  "0013_snapshots": original(snapshots),
  "0014_several_machines": original(statements(severalMachines)),
  "0015_shared_limits": original(sharedLimits),
  "0016_releases": original(statements(releases)),
  "0017_sparse_indexes": original(statements(sparseIndexes)),
  "0018_answer_places": original(answerPlaces),
  "0019_allowed_obstacles": expand(statements(allowedObstacles)),
  "0020_sparse_checkouts": expand(statements(sparseCheckouts))
}
