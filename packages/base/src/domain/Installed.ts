import { Schema } from "effect"

/** The lists that are a matter of the installation: a program may bring kinds of its own to each. */
export type InstalledList = "connection_kinds" | "forges" | "executors" | "webhook_types"

/** The annotation that names the list of a text. */
export const InstalledFrom = Symbol.for("@reins/core/domain/InstalledFrom")

/** In place of a list: the fields are those of the credentials that the installed kinds of connection take. */
export const installedCredentials = "credentials"

/** In a JSON schema, where the values of the list belong. */
export const installedKeyword = "x-reins-installed"

/**
 * A name out of one of these lists. The contract is the same for every installation, so its schema takes any text. The server closes the
 * list with what its installation has, for requests and in its OpenAPI document; the services check it again for those who embed them.
 */
export const installed = (list: InstalledList) =>
  Schema.String.annotations({ [InstalledFrom]: list, jsonSchema: { type: "string", [installedKeyword]: list } })

/** In a JSON schema, where the default of a list belongs. */
export const defaultKeyword = "x-reins-default"

/** A text whose default is a matter of the installation. The server's OpenAPI document names it; the services fill it in. */
export const withDefaultOf = (list: "providers") =>
  Schema.String.annotations({ jsonSchema: { type: "string", [defaultKeyword]: list } })

/** Names in a sentence, as in `git, github or gitlab`. */
export const oneOf = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`
