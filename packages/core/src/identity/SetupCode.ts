import { timingSafeEqual } from "node:crypto"
import type { Vault } from "@reins/base/secrets/Vault"

/** Without letters that look like digits, because a person may have to type it. */
const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const bits = 80

/**
 * The code that proves to run the installation. It follows from the key ring, so every server of the installation and its command line know it,
 * it lies nowhere, and a rotation of the keys makes another one. 80 bits, as in `AB12-CD34-EF56-GH78`.
 */
export const setupCodeOf = (vault: Vault["Type"]): string => {
  const mac = vault.mac("setup code", "the first account").split(".").at(-1) ?? ""
  const number = BigInt(
    `0x${Buffer.from(mac, "base64url")
      .subarray(0, bits / 8)
      .toString("hex")}`
  )
  const places = Array.from({ length: bits / 5 }, (_, place) => letters[Number((number >> BigInt(place * 5)) & 31n)])
  return places.join("").replace(/(.{4})(?=.)/g, "$1-")
}

/** True for the code of the installation, however it was typed. */
export const isSetupCode = (vault: Vault["Type"], given: string): boolean => {
  const one = Buffer.from(plain(given))
  const other = Buffer.from(plain(setupCodeOf(vault)))
  return one.length === other.length && timingSafeEqual(one, other)
}

const plain = (code: string): string =>
  code
    .toUpperCase()
    .replaceAll("O", "0")
    .replaceAll(/[IL]/g, "1")
    .replaceAll(/[^0-9A-Z]/g, "")
