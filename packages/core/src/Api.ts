import { HttpApi, HttpApiGroup, OpenApi } from "@effect/platform"
import { CatalogApi } from "./catalog/CatalogApi.js"
import { captureEndpoints } from "./changes/CapturesApi.js"
import { ApplicationsApi, ChangesetsApi, DeliveriesApi, MergeRequestsApi } from "./changes/ChangesApi.js"
import { ConnectionsApi } from "./connections/ConnectionsApi.js"
import { DelegationsApi, delegateEndpoints } from "./delegations/DelegationsApi.js"
import { deletionEndpoints, receiptEndpoints } from "./deletion/DeletionsApi.js"
import { sessionEventEndpoints, workspaceEventEndpoints } from "./events/EventsApi.js"
import { executorEndpoints } from "./execution/ExecutorApi.js"
import { AccountsApi, ApiKeysApi } from "./identity/AccountsApi.js"
import { workspaceEndpoints } from "./identity/WorkspacesApi.js"
import { JobsApi } from "./jobs/JobsApi.js"
import { ProjectsApi } from "./projects/ProjectsApi.js"
import { MessagesApi, TurnsApi } from "./sessions/ConversationApi.js"
import { InteractionsApi } from "./sessions/InteractionsApi.js"
import { sessionEndpoints } from "./sessions/SessionsApi.js"
import { workspaceUsageEndpoints } from "./sessions/Usage.js"
import { WebhooksApi } from "./webhooks/WebhooksApi.js"
import { fileEndpoints } from "./worktrees/FilesApi.js"
import { repositoryEndpoints } from "./worktrees/RepositoryCheck.js"

/** The version of the contract, which changes with it and not with each release. */
export const apiVersion = "2.0.0"

/** Every operation on a session, of whatever room. */
export class SessionsApi extends HttpApiGroup.make("sessions")
  .add(sessionEndpoints.list)
  .add(sessionEndpoints.create)
  .add(sessionEndpoints.get)
  .add(sessionEndpoints.getUsage)
  .add(sessionEndpoints.update)
  .add(sessionEndpoints.archive)
  .add(sessionEndpoints.unarchive)
  .add(sessionEndpoints.close)
  .add(deletionEndpoints.delete)
  .add(deletionEndpoints.getDeletion)
  .add(captureEndpoints.getChanges)
  .add(captureEndpoints.listChangesets)
  .add(captureEndpoints.capture)
  .add(delegateEndpoints.listDelegations)
  .add(delegateEndpoints.delegate)
  .add(sessionEventEndpoints.listEvents)
  .add(executorEndpoints.getExecutor)
  .add(executorEndpoints.activateExecutor)
  .add(executorEndpoints.releaseExecutor)
  .add(fileEndpoints.uploadFile)
  .add(fileEndpoints.listFiles)
  .add(fileEndpoints.getFile)
  .add(executorEndpoints.switchHarness)
  .add(executorEndpoints.getNativeState) {}

/** Every operation on a workspace, of whatever room. */
export class WorkspacesApi extends HttpApiGroup.make("workspaces")
  .add(workspaceEndpoints.list)
  .add(workspaceEndpoints.get)
  .add(workspaceEndpoints.update)
  .add(workspaceUsageEndpoints.getUsage)
  .add(receiptEndpoints.listSessionDeletions)
  .add(repositoryEndpoints.getRepository)
  .add(workspaceEventEndpoints.listEvents)
  .add(workspaceEndpoints.listMembers)
  .add(workspaceEndpoints.addMember)
  .add(workspaceEndpoints.removeMember) {}

/** The whole HTTP contract as data: the routes, the OpenAPI document and the client are made from it. */
export class Api extends HttpApi.make("reins")
  .add(AccountsApi)
  .add(ApiKeysApi)
  .add(WorkspacesApi)
  .add(ConnectionsApi)
  .add(ProjectsApi)
  .add(SessionsApi)
  .add(MessagesApi)
  .add(TurnsApi)
  .add(InteractionsApi)
  .add(ChangesetsApi)
  .add(ApplicationsApi)
  .add(DeliveriesApi)
  .add(MergeRequestsApi)
  .add(DelegationsApi)
  .add(WebhooksApi)
  .add(CatalogApi)
  .add(JobsApi)
  .annotate(OpenApi.Title, "Reins")
  .annotate(OpenApi.Version, apiVersion)
  .annotate(OpenApi.License, { name: "Apache-2.0" }) {}
