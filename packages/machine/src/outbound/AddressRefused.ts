import { isIP, type LookupFunction } from "node:net"
import { isPublic } from "./Address.js"

/** The connection was refused, because it has no TLS or leads to an address that is not public. `message` says how an operator allows it. */
export class AddressRefused extends Error {
  readonly code = "ERR_ADDRESS_REFUSED"
  constructor(problem: "not_public" | "not_https", host: string, port: number) {
    const place = `${host.includes(":") ? `[${host}]` : host}:${port}`
    const why =
      problem === "not_public"
        ? `${place} is not on the public Internet, and this server connects to no other hosts`
        : `${place} would be asked without TLS, and this server asks other hosts through https only`
    super(`${why} unless its operator allows them (REINS_ALLOW_PRIVATE_HOSTS=${place}).`)
  }
}

/** Gives the addresses of a name when all of them are public. A name that has a private address beside a public one is an attack. */
export const publicOnly =
  (lookup: LookupFunction, refusal: AddressRefused): LookupFunction =>
  (name, options, found) =>
    lookup(name, { ...options, all: true }, (error, result, family) => {
      const addresses = typeof result === "string" ? [{ address: result, family: family ?? isIP(result) }] : result
      const [first] = addresses ?? []
      if (error !== null) found(error, [])
      else if (first === undefined || !addresses.every(({ address }) => isPublic(address))) found(refusal, [])
      else if (options.all === true) found(null, addresses)
      else found(null, first.address, first.family)
    })
