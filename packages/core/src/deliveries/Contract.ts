import { ChangesetDeliveriesApi, DeliveriesApi } from "./DeliveriesApi.js"
import { SigningKeysApi } from "./signing/SigningKeysApi.js"

/** The endpoints of this room. */
export const groups = [ChangesetDeliveriesApi, DeliveriesApi, SigningKeysApi] as const

export { operationErrors as errors } from "./Errors.js"
