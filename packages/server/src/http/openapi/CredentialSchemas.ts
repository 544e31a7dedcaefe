import type { InstalledNames } from "@reins/core/catalog/Installed"
import { JSONSchema } from "effect"
import { describedInline } from "./Descriptions.js"
import { fieldsOf, type Json, mapFields, refersTo } from "./Json.js"
import { plain } from "./Plain.js"

const pascal = (kind: string): string =>
  kind.replace(/(?:^|[^A-Za-z0-9])([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())

const credentialOf = (kind: string): string => `${pascal(kind)}Credential`

/** The components with the credential of each kind of connection that the installation has. */
export const withCredentials = (components: Json, installed: InstalledNames): Json => {
  const { credentials } = installed
  const kinds = Object.keys(credentials)
  const input = fieldsOf(components["ConnectionInput"])
  const replaced = fieldsOf(components["CredentialVersionInput"])
  const inputOf = (kind: string): Json => ({
    ...input,
    description: `A connection of the kind \`${kind}\`.`,
    properties: mapFields(fieldsOf(input["properties"]), (name, property) =>
      name === "kind"
        ? { type: "string", enum: [kind], description: fieldsOf(property)["description"] }
        : name === "credential"
          ? { ...refersTo(credentialOf(kind)), description: fieldsOf(property)["description"] }
          : property
    )
  })
  const nameOf = (kind: string): string => `${pascal(kind)}ConnectionInput`
  return {
    ...components,
    ...Object.fromEntries(kinds.map((kind) => [credentialOf(kind), credentialSchema(kind, installed)])),
    ...Object.fromEntries(kinds.map((kind) => [nameOf(kind), inputOf(kind)])),
    ConnectionInput: {
      description: input["description"],
      oneOf: kinds.map((kind) => refersTo(nameOf(kind))),
      discriminator: {
        propertyName: "kind",
        mapping: Object.fromEntries(kinds.map((kind) => [kind, `#/components/schemas/${nameOf(kind)}`]))
      }
    },
    CredentialVersionInput: {
      ...replaced,
      properties: mapFields(fieldsOf(replaced["properties"]), (name, property) =>
        name === "credential"
          ? {
              description: fieldsOf(property)["description"],
              anyOf: kinds.map((kind) => refersTo(credentialOf(kind)))
            }
          : property
      )
    }
  }
}

const credentialSchema = (kind: string, installed: InstalledNames): Json => {
  const schema = installed.credentials[kind]
  const description = `The credential of a connection of the kind \`${kind}\`.`
  if (schema === undefined) return { type: "object", description, additionalProperties: {} }
  const {
    $defs: _,
    $schema: __,
    ...json
  } = fieldsOf(
    JSONSchema.fromAST(schema.ast, { definitions: {}, target: "openApi3.1", additionalPropertiesStrategy: "allow" })
  )
  return { ...describedInline(plain(json, installed), schema), description }
}
