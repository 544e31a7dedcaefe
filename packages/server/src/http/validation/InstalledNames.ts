import { InstalledFrom, type InstalledList } from "@reins/base/domain/Installed"
import { SchemaAST as AST, Schema } from "effect"

type Lists = Readonly<Record<InstalledList, ReadonlyArray<string>>>

/** The same schema for one installation: a text out of a list takes the names of that list only, like a literal of them. */
export const withInstalledNames = <A, I, R>(schema: Schema.Schema<A, I, R>, lists: Lists): Schema.Schema<A, I, R> =>
  Schema.make(closed(schema.ast, lists))

const closed = (ast: AST.AST, lists: Lists): AST.AST => {
  const within = (inner: AST.AST) => closed(inner, lists)
  const list = Object.entries(lists).find(([name]) => name === ast.annotations[InstalledFrom])
  if (list !== undefined) return Schema.Literal(...list[1]).ast
  switch (ast._tag) {
    case "TupleType":
      return new AST.TupleType(
        ast.elements.map(
          ({ annotations, isOptional, type }) => new AST.OptionalType(within(type), isOptional, annotations)
        ),
        ast.rest.map(({ annotations, type }) => new AST.Type(within(type), annotations)),
        ast.isReadonly,
        ast.annotations
      )
    case "TypeLiteral":
      return new AST.TypeLiteral(
        ast.propertySignatures.map(
          ({ annotations, isOptional, isReadonly, name, type }) =>
            new AST.PropertySignature(name, within(type), isOptional, isReadonly, annotations)
        ),
        ast.indexSignatures,
        ast.annotations
      )
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
