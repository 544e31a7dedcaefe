import { Schema } from "effect"

/**
 * A field of a struct with what it means: its shape, unit and limits as far as its schema does not tell. The OpenAPI document and the types
 * of the client say the same words.
 */
export function field<F extends Schema.PropertySignature.All>(signature: F, description: string): F
export function field<F extends Schema.Schema.All>(schema: F, description: string): Schema.propertySignature<F>
export function field(given: Schema.PropertySignature.All | Schema.Schema.All, description: string) {
  // Boundary: `annotations` of a signature gives back a signature of the same type, but `PropertySignature.All` does not say so.
  return Schema.isPropertySignature(given)
    ? (given as Schema.PropertySignature.All & AnyAnnotated).annotations({ description })
    : Schema.propertySignature(given).annotations({ description })
}

interface AnyAnnotated {
  readonly annotations: (annotations: { readonly description: string }) => Schema.PropertySignature.All
}
