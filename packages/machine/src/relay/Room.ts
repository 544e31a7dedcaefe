import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { CredentialProxy } from "./gateway/CredentialProxy.js"
import { Loans } from "./Loans.js"
import { ToolLoans } from "./mcp/ToolLoans.js"

/** The loopback listener with its loans: the relay through which agents use credentials, and the endpoint of their tools. */
export const relay = {
  name: "relay",
  layer: oneByOne(CredentialProxy.layer, ToolLoans.layer).pipe(onTopOf(Loans.layer))
} as const
