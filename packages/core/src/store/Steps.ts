import { Effect } from "effect"
import { byDialect, expand, original, type Step, statements } from "./Step.js"
import { access } from "./schema/access.js"
import { artifacts } from "./schema/artifacts.js"
import { automationSweeps, automations } from "./schema/automations.js"
import { budgets } from "./schema/budgets.js"
import { care, careFollows } from "./schema/care.js"
import { catalog, enabledProviders } from "./schema/catalog.js"
import { changes, hiddenFiles } from "./schema/changes.js"
import { connections } from "./schema/connections.js"
import { delegations } from "./schema/delegations.js"
import { deletion } from "./schema/deletion.js"
import { deliveries } from "./schema/deliveries.js"
import { events } from "./schema/events.js"
import { hooks, hookTold } from "./schema/hooks.js"
import { identity, identitySweeps } from "./schema/identity.js"
import { jobs } from "./schema/jobs.js"
import { logins } from "./schema/logins.js"
import { askedScopes, oauth, oauthSweeps } from "./schema/oauth.js"
import { placement, requestCredit } from "./schema/placement.js"
import { projects } from "./schema/projects.js"
import { push } from "./schema/push.js"
import { checkIdentities, officialReviews, requestActs, requests } from "./schema/requests.js"
import { interactionSubjects, search, sessions, turnAskers } from "./schema/sessions.js"
import { shares } from "./schema/shares.js"
import { blobs, store } from "./schema/store.js"
import { tools } from "./schema/tools.js"
import { webhooks } from "./schema/webhooks.js"
import { work } from "./schema/work.js"
import { gitConnections, worktrees } from "./schema/worktrees.js"

/**
 * The steps of the schema in their order, by number and name. The first release has one for each room, after those that its tables refer to. A new
 * one is `expand` or `contract`, as CONTRIBUTING.md says.
 *
 * The statements are portable to SQLite and PostgreSQL. Columns are text and integers. Times are RFC 3339 text, JSON is text, booleans are 0 and 1.
 * Each entry is one statement, since SQLite takes one statement a call.
 */
export const steps: Readonly<Record<string, Step>> = {
  "0001_identity": original(statements(identity)),
  "0002_access": original(statements(access)),
  "0003_connections": original(statements(connections)),
  "0004_projects": original(statements(projects)),
  "0005_sessions": original(Effect.zipRight(statements(sessions), byDialect(search))),
  "0006_changes": original(statements([...changes, ...deliveries, ...requests])),
  "0007_delegations": original(statements(delegations)),
  "0008_jobs": original(statements(jobs)),
  "0009_budgets": original(statements(budgets)),
  "0010_webhooks": original(statements(webhooks)),
  "0011_worktrees": original(statements(worktrees)),
  "0012_placement": original(Effect.zipRight(statements(placement), byDialect(requestCredit))),
  "0013_store": original(Effect.zipRight(statements(store), byDialect(blobs))),
  "0014_events": original(statements(events)),
  "0015_deletion": original(statements(deletion)),
  "0016_shares": original(statements(shares)),
  "0017_tools": original(statements(tools)),
  "0018_automations": original(statements(automations)),
  "0019_push": original(statements(push)),
  "0020_hooks": original(statements(hooks)),
  "0021_artifacts": original(byDialect(artifacts)),
  "0022_care": original(statements(care)),
  "0023_oauth": original(statements(oauth)),
  "0024_request_acts": expand(statements(requestActs)),
  "0025_care_follows": expand(statements(careFollows)),
  "0026_asked_scopes": expand(statements(askedScopes)),
  "0027_hidden_files": expand(statements(hiddenFiles)),
  "0028_turn_askers": expand(statements(turnAskers)),
  "0029_sweeps": expand(statements([...identitySweeps, ...oauthSweeps, ...automationSweeps])),
  "0030_check_identities": expand(statements(checkIdentities)),
  "0031_official_reviews": expand(statements(officialReviews)),
  "0032_hook_told": expand(statements(hookTold)),
  "0033_git_connections": expand(statements([...catalog, ...gitConnections])),
  "0034_enabled_providers": expand(statements(enabledProviders)),
  "0035_interaction_subjects": expand(statements(interactionSubjects)),
  "0036_work": expand(statements(work)),
  "0037_connection_logins": expand(statements(logins))
}
