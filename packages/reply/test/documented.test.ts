import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Door, doorsOf, packages, sourcesIn } from './source.ts'

/** An editor shows the doc comment of a name when the pointer hovers over it. */
describe.each(packages.flatMap(doorsOf))('what $id exports', (door) => {
  test('has a doc comment on each name, and on each field of a type', () => {
    const exported = exportsOf(door)
    expect(exported).not.toEqual([])
    const missing = exported.flatMap(({ path, name }) => undocumented(sources.get(path)?.text ?? '', name))
    expect(missing).toEqual([])
  })
})

describe('a missing doc comment', () => {
  const documented = [
    '/** A part. */',
    'export interface Part extends Fields {',
    "  readonly type: 'text'",
    '  /** Grows. */',
    '  readonly text: string',
    '}',
    '/** In common. */',
    'interface Fields {',
    '  /** Unique. */',
    '  readonly id: string',
    '}',
  ]

  test.each([
    ['a name', '/** A part. */', ['Part']],
    ['a field', '  /** Grows. */', ['Part.text']],
    ['a field of a type that it extends', '  /** Unique. */', ['Fields.id']],
    ['the discriminator', '', []],
  ])('of %s is found, a discriminator needs none', (_, comment, expected) => {
    const text = documented.filter((line) => line !== comment).join('\n')
    expect(undocumented(text, 'Part')).toEqual(expected)
  })

  test('of a name that is not there is an error', () => {
    expect(() => undocumented(documented.join('\n'), 'Whole')).toThrow('Whole')
  })
})

interface Exported {
  readonly path: string
  readonly name: string
}

/** The names that a file passes on from its package's files. What comes from another package is documented there. */
function exportsOf({ path, text }: Pick<Door, 'path' | 'text'>): readonly Exported[] {
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\} from '(\.[^']+)'/gm)].flatMap(([, list = '', from = '']) =>
    list.split(',').flatMap((item) => {
      const name = item.replace(/^\s*(?:type )?/, '').trim()
      return name === '' ? [] : [origin({ path: join(dirname(path), from), name })]
    }),
  )
}

const sources = new Map(sourcesIn('src').map((file) => [file.path, file]))

/** The file that declares a name, which may pass through several. */
function origin(exported: Exported): Exported {
  const file = sources.get(exported.path)
  return (file && exportsOf(file).find(({ name }) => name === exported.name)) ?? exported
}

/** The names and fields without a doc comment directly above, of a declaration and the types that it extends. */
function undocumented(text: string, name: string): readonly string[] {
  const lines = text.split('\n')
  const declaration = new RegExp(`^(?:export )?(?:async )?(?:function\\*?|const|class|type|interface) ${name}\\b`)
  const start = lines.findIndex((line) => declaration.test(line))
  if (start === -1) throw new Error(`${name} is not declared in the file that exports it.`)
  const isDocumented = (at: number): boolean => lines[at - 1]?.trimEnd().endsWith('*/') === true
  const length = lines.slice(start + 1).findIndex((line) => /^\S/.test(line))
  const field = fieldIn(lines[start] ?? '')
  const fields = lines.slice(start + 1, start + 1 + length).flatMap((line, at) => {
    const own = field?.exec(line)?.[1]
    return own === undefined || isDiscriminator(line) || isDocumented(start + 1 + at) ? [] : [`${name}.${own}`]
  })
  const header = lines.slice(start).join(' ').split('{', 1)[0] ?? ''
  const bases = /\bextends (\w+(?:, \w+)*)/.exec(header)?.[1]?.split(', ') ?? []
  const inherited = bases.filter((base) => new RegExp(`^interface ${base}\\b`, 'm').test(text))
  return [...(isDocumented(start) ? [] : [name]), ...fields, ...inherited.flatMap((base) => undocumented(text, base))]
}

/** A class has methods besides its public fields; functions and constants have no fields. */
function fieldIn(declaration: string): RegExp | undefined {
  if (/^export class /.test(declaration)) return /^ {2}readonly (\w+)[?:]/
  const hasFields = /^(?:export )?(?:interface |type .*\{$)/.test(declaration)
  return hasFields ? /^ {2}(?:readonly )?('[^']+'|\w+)[?:(<]/ : undefined
}

/** A field with a single possible value tells the types of a union apart. */
function isDiscriminator(line: string): boolean {
  return /^ {2}readonly \w+: '[^']*'$/.test(line)
}
