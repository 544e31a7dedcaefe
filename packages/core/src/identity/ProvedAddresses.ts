import { type Hearers, makeHearers } from "@reins/base/base/Hearers"
import type { AccountId } from "@reins/base/domain/Ids"
import { Context, Effect, Layer } from "effect"

/** A room above that knows of addresses which an account has proved elsewhere, in lower case. */
export interface AddressProver {
  readonly addressesOf: (accountId: AccountId) => Effect.Effect<ReadonlyArray<string>>
}

/** The rooms that prove addresses of accounts. They register here, so that accounts need not know them. */
export class ProvedAddresses extends Context.Tag("@reins/core/identity/ProvedAddresses")<
  ProvedAddresses,
  Pick<Hearers<AddressProver>, "register"> & {
    /** True when some room says that the account has proved an address. */
    readonly has: (accountId: AccountId, email: string) => Effect.Effect<boolean>
  }
>() {
  static readonly layer = Layer.sync(ProvedAddresses, () => {
    const { ask, register } = makeHearers<AddressProver>()
    return ProvedAddresses.of({
      register,
      has: (accountId, email) =>
        Effect.map(
          ask(({ addressesOf }) =>
            Effect.map(addressesOf(accountId), (addresses) => addresses.includes(email) || undefined)
          ),
          (found) => found ?? false
        )
    })
  })
}
