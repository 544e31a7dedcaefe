import { onTopOf } from "../base/Layered.js"
import { CredentialProxy } from "./gateway/CredentialProxy.js"
import { Loans } from "./Loans.js"

/** The loopback listener with its loans, and the relay through which agents use credentials. */
export const relay = {
  name: "relay",
  layer: CredentialProxy.layer.pipe(onTopOf(Loans.layer))
} as const
