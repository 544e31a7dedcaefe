import { SchemaAST as AST, Either, ParseResult, Schema } from "effect"

/**
 * The same schema, decoded with all errors, except that a list or record is looked through only until so many members are wrong. A body
 * of a megabyte can have hundreds of thousands of wrong members, and finding them all takes seconds in which nobody else is served. A member
 * of a record with the name `__proto__` is refused, because the schema itself would drop it: assigning it sets a prototype.
 */
export const withBoundedIssues = <A, I, R>(schema: Schema.Schema<A, I, R>, most: number): Schema.Schema<A, I, R> =>
  Schema.make(bounded(schema.ast, most))

const bounded = (ast: AST.AST, most: number): AST.AST => {
  const within = (inner: AST.AST) => bounded(inner, most)
  switch (ast._tag) {
    case "TupleType": {
      const [rest] = ast.rest
      return ast.elements.length === 0 && ast.rest.length === 1 && rest !== undefined
        ? declared(ast, decodeList(ast, within(rest.type), most))
        : ast
    }
    case "TypeLiteral": {
      const [index] = ast.indexSignatures
      if (ast.propertySignatures.length === 0 && ast.indexSignatures.length === 1 && index !== undefined)
        return declared(ast, decodeRecord(ast, index.parameter, within(index.type), most))
      const properties = ast.propertySignatures.map(
        ({ annotations, isOptional, isReadonly, name, type }) =>
          new AST.PropertySignature(name, within(type), isOptional, isReadonly, annotations)
      )
      return new AST.TypeLiteral(properties, ast.indexSignatures, ast.annotations)
    }
    case "Union":
      return AST.Union.make(ast.types.map(within), ast.annotations)
    case "Refinement":
      return new AST.Refinement(within(ast.from), ast.filter, ast.annotations)
    case "Transformation":
      return new AST.Transformation(within(ast.from), ast.to, ast.transformation, ast.annotations)
    default:
      return ast
  }
}

type Decode = (input: unknown, options: AST.ParseOptions) => Either.Either<unknown, ParseResult.ParseIssue>

const declared = (ast: AST.AST, decode: Decode): AST.AST =>
  new AST.Declaration(
    [],
    () => decode,
    () => Either.right,
    ast.annotations
  )

const decoderOf = (ast: AST.AST) => ParseResult.decodeUnknownEither(Schema.make<unknown, unknown, never>(ast))

const decodeList = (ast: AST.AST, item: AST.AST, most: number): Decode => {
  const decodeItem = decoderOf(item)
  return (input, options) => {
    if (!Array.isArray(input)) return Either.left(new ParseResult.Type(ast, input))
    const issues = new Issues(ast, input, most)
    const items: Array<unknown> = []
    for (const [index, given] of input.entries()) {
      issues.take(index, decodeItem(given, options), (value) => items.push(value))
      if (issues.isFull) break
    }
    return issues.orElse(items)
  }
}

const decodeRecord = (ast: AST.AST, key: AST.AST, value: AST.AST, most: number): Decode => {
  const decodeKey = decoderOf(key)
  const decodeValue = decoderOf(value)
  return (input, options) => {
    if (typeof input !== "object" || input === null || Array.isArray(input))
      return Either.left(new ParseResult.Type(ast, input))
    const issues = new Issues(ast, input, most)
    const entries: Array<readonly [string, unknown]> = []
    for (const [name, given] of Object.entries(input)) {
      issues.take(
        name,
        name === "__proto__"
          ? Either.left(new ParseResult.Type(key, name, "A member cannot have the name __proto__"))
          : Either.flatMap(decodeKey(name, options), () => decodeValue(given, options)),
        (decoded) => entries.push([name, decoded])
      )
      if (issues.isFull) break
    }
    return issues.orElse(Object.fromEntries(entries))
  }
}

/** The faults of the members of a value. */
class Issues {
  private readonly found: Array<ParseResult.ParseIssue> = []

  constructor(
    private readonly ast: AST.AST,
    private readonly input: object,
    private readonly most: number
  ) {}

  get isFull(): boolean {
    return this.found.length >= this.most
  }

  take(
    key: string | number,
    member: Either.Either<unknown, ParseResult.ParseIssue>,
    onRight: (value: unknown) => void
  ): void {
    if (Either.isLeft(member)) this.found.push(new ParseResult.Pointer(key, this.input, member.left))
    else onRight(member.right)
  }

  orElse(value: unknown): Either.Either<unknown, ParseResult.ParseIssue> {
    const [first, ...others] = this.found
    return first === undefined
      ? Either.right(value)
      : Either.left(new ParseResult.Composite(this.ast, this.input, [first, ...others]))
  }
}
