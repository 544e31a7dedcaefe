import { oneByOne } from "@reins/base/base/Layered"
import { AccountStore } from "./AccountStore.js"
import { ApiKeyStore } from "./ApiKeyStore.js"
import { LoginStore } from "./LoginStore.js"
import { MemberStore } from "./MemberStore.js"
import { ProvedAddresses } from "./ProvedAddresses.js"
import { WorkspaceStore } from "./WorkspaceStore.js"

/** The stores of this room. Its services need all of them. */
export const layer = oneByOne(
  AccountStore.layer,
  ApiKeyStore.layer,
  LoginStore.layer,
  MemberStore.layer,
  ProvedAddresses.layer,
  WorkspaceStore.layer
)
