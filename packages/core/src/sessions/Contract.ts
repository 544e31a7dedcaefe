import { SessionsApi } from "./creation/SessionsApi.js"
import { MessagesApi, TurnsApi } from "./messages/ConversationApi.js"
import { InteractionsApi } from "./questions/InteractionsApi.js"
import { WorkspaceUsageApi } from "./usage/Usage.js"

/** The endpoints of this room. */
export const groups = [SessionsApi, WorkspaceUsageApi, MessagesApi, TurnsApi, InteractionsApi] as const

export { operationErrors as errors } from "./Errors.js"
