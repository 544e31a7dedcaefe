import { MessagesApi, TurnsApi } from "./ConversationApi.js"
import { InteractionsApi } from "./InteractionsApi.js"
import { SessionsApi } from "./SessionsApi.js"
import { WorkspaceUsageApi } from "./Usage.js"

/** The endpoints of this room. */
export const groups = [SessionsApi, WorkspaceUsageApi, MessagesApi, TurnsApi, InteractionsApi] as const

export { operationErrors as errors } from "./Errors.js"
