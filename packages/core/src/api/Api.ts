import { HttpApi, OpenApi } from "@effect/platform"
import { AccountsApi, ApiKeysApi } from "./AccountsApi.js"
import { CatalogApi, JobsApi } from "./CatalogApi.js"
import { ApplicationsApi, ChangesetsApi, DeliveriesApi, MergeRequestsApi } from "./ChangesApi.js"
import { ConnectionsApi } from "./ConnectionsApi.js"
import { MessagesApi, TurnsApi } from "./ConversationApi.js"
import { DelegationsApi } from "./DelegationsApi.js"
import { InteractionsApi } from "./InteractionsApi.js"
import { ProjectsApi } from "./ProjectsApi.js"
import { SessionsApi } from "./SessionsApi.js"
import { WebhooksApi } from "./WebhooksApi.js"
import { WorkspacesApi } from "./WorkspacesApi.js"

/** The version of the contract, which changes with it and not with each release. */
export const apiVersion = "2.0.0"

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
