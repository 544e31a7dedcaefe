import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "@effect/platform"
import { Context, Schema } from "effect"
import type { Scope } from "./Scope.js"

/** The callers of an endpoint: anybody, or those whose credentials carry the scope. */
export class RequiredScope extends Context.Tag("@reins/core/domain/RequiredScope")<RequiredScope, Scope | "public">() {}

/** Marks an endpoint whose answer holds a secret. Its stored answer is sealed. */
export class SecretAnswer extends Context.Tag("@reins/core/domain/SecretAnswer")<SecretAnswer, true>() {}

/** Marks an endpoint whose answer is never stored, so that a repeated call runs again. A login is made anew, and a wait goes on. */
export class NotReplayed extends Context.Tag("@reins/core/domain/NotReplayed")<NotReplayed, true>() {}

/** Marks an endpoint whose body holds a file. The limit of uploads holds for it. */
export class TakesFile extends Context.Tag("@reins/core/domain/TakesFile")<TakesFile, true>() {}

/** The part of a path that says whose files an answer needs. */
export type NeededMachine = "session_id" | "changeset_id"

/** Marks an endpoint that touches the files of a session. On several machines the node that has them answers it. */
export class NeedsMachine extends Context.Tag("@reins/core/domain/NeedsMachine")<NeedsMachine, NeededMachine>() {}

/** Marks an endpoint that the specification does not list, so that readers of the document can tell it apart. */
export const extension = Context.make(OpenApi.Override, { "x-reins-extension": true })

/** The header that every mutation needs: 1 to 255 printable ASCII characters. */
export const IdempotencyHeaders = Schema.Struct({
  "idempotency-key": Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255), Schema.pattern(/^[\x20-\x7e]+$/))
})

const described = (summary: string, scope: Scope | "public") =>
  Context.make(OpenApi.Summary, summary).pipe(Context.add(RequiredScope, scope))

/** A read without side effects. */
export const read = <const Name extends string>(
  name: Name,
  path: HttpApiEndpoint.PathSegment,
  summary: string,
  scope: Scope | "public" = "read"
) => HttpApiEndpoint.get(name, path).annotateContext(described(summary, scope))

export const post = <const Name extends string>(
  name: Name,
  path: HttpApiEndpoint.PathSegment,
  summary: string,
  scope: Scope | "public" = "write"
) => HttpApiEndpoint.post(name, path).setHeaders(IdempotencyHeaders).annotateContext(described(summary, scope))

export const patch = <const Name extends string>(
  name: Name,
  path: HttpApiEndpoint.PathSegment,
  summary: string,
  scope: Scope | "public" = "write"
) => HttpApiEndpoint.patch(name, path).setHeaders(IdempotencyHeaders).annotateContext(described(summary, scope))

/** Makes what the path names, or puts another one in its place. */
export const put = <const Name extends string>(
  name: Name,
  path: HttpApiEndpoint.PathSegment,
  summary: string,
  scope: Scope | "public" = "write"
) => HttpApiEndpoint.put(name, path).setHeaders(IdempotencyHeaders).annotateContext(described(summary, scope))

export const remove = <const Name extends string>(
  name: Name,
  path: HttpApiEndpoint.PathSegment,
  summary: string,
  scope: Scope | "public" = "write"
) => HttpApiEndpoint.del(name, path).setHeaders(IdempotencyHeaders).annotateContext(described(summary, scope))

/** The same schema under the same name, answered with another status than 200. */
export const withStatus = <A, I, R>(schema: Schema.Schema<A, I, R>, status: 201 | 202): Schema.Schema<A, I, R> =>
  schema.annotations(HttpApiSchema.annotations({ status }))

/** An optional body field: absent and null mean the same. */
export const optional = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.optionalWith(schema, { exact: true, nullable: true })

export const idPath = <const Name extends string>(name: Name) =>
  Schema.Struct({ [name]: Schema.String } as { readonly [K in Name]: typeof Schema.String })
