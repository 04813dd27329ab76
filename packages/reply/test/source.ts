import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Words that read as translated: plain English has shorter ones for what they say. */
export const oddWords = /\b(?:nobody|somebody|anybody|whoever|whom|of which)\b|(?<!\bthere )\bis no (?!longer\b)/i

/** The repository's own TypeScript as text, for rules that a compiler doesn't have. */
export interface SourceFile {
  /** From the repository's root: `packages/reply/src/track/held-events.ts`. */
  readonly path: string
  readonly package: string
  readonly text: string
  /** The code alone, to search for forbidden words. */
  readonly code: string
  readonly comments: readonly string[]
  /** String literals and templates, with their quotes. */
  readonly strings: readonly string[]
  /** The first arguments of `test`, `describe` and their `each`, with their quotes. */
  readonly titles: readonly string[]
}

const home = fileURLToPath(new URL('../../../', import.meta.url))

export const packages: readonly string[] = readdirSync(join(home, 'packages'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)

export function sourcesIn(folder: 'src' | 'test'): readonly SourceFile[] {
  return packages.flatMap((name) => filesIn(`packages/${name}/${folder}`).map((path) => read(path, name)))
}

/** The files and folders directly in a folder of the repository. */
export function entriesIn(folder: string): readonly string[] {
  return readdirSync(join(home, folder))
}

function filesIn(folder: string): readonly string[] {
  if (!existsSync(join(home, folder))) return []
  return readdirSync(join(home, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return filesIn(path)
    return path.endsWith('.ts') ? [path] : []
  })
}

function read(path: string, name: string): SourceFile {
  const text = readFileSync(join(home, path), 'utf8')
  const tokens = text.match(token) ?? []
  return {
    path,
    package: name,
    text,
    code: codeOf(text),
    comments: tokens.filter((found) => /^\/[/*]/.test(found)),
    strings: tokens.filter((found) => /^['"`]/.test(found)),
    titles: [...text.matchAll(title)].map(([, found = '']) => found),
  }
}

/** An entry point of a package. */
export interface Door {
  /** As imported, without the scope: `sink/channel`. */
  readonly id: string
  /** From the repository's root. */
  readonly path: string
  readonly text: string
}

/** The entry points that a package's manifest lists. Empty for a package that is not imported by others. */
export function doorsOf(name: string): readonly Door[] {
  const manifest: unknown = JSON.parse(readFileSync(join(home, 'packages', name, 'package.json'), 'utf8'))
  const entries = isRecord(manifest) && isRecord(manifest.exports) ? Object.entries(manifest.exports) : []
  return entries.flatMap(([from, target]): Door[] => {
    const source = isRecord(target) ? target['@reply/source'] : undefined
    if (typeof source !== 'string') return []
    const path = join('packages', name, source)
    return [{ id: join(name, from), path, text: readFileSync(join(home, path), 'utf8') }]
  })
}

/** What a package expects its user to install. */
export function peersOf(name: string): readonly string[] {
  const manifest: unknown = JSON.parse(readFileSync(join(home, 'packages', name, 'package.json'), 'utf8'))
  return isRecord(manifest) && isRecord(manifest.peerDependencies) ? Object.keys(manifest.peerDependencies) : []
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** A file's imports and re-exports, and whether they are types only. */
export function importsOf({ text }: SourceFile): readonly { readonly from: string; readonly isType: boolean }[] {
  const code = text.replace(token, (found) => (/^['"]/.test(found) ? found : blank(found)))
  const statements = code.matchAll(/^(?:import|export) (type )?(?:[^'"`;]*? from )?'([^']+)'/gm)
  const calls = code.matchAll(/(typeof )?import\('([^']+)'\)/g)
  return [...statements, ...calls].map(([, type, from = '']) => ({ from, isType: type !== undefined }))
}

/** The code without comments, strings, patterns and imports, so that their words don't count. */
function codeOf(text: string): string {
  const code = text.replace(token, (found) => (found.startsWith('`') ? `(${inserted(found)})` : blank(found)))
  return code.replace(/^(import|export) [^;=(]*? from\s*$/gm, blank)
}

/** A comment, a string, a template or a pattern. */
const token =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|\$\{(?:[^{}]|\{[^{}]*\})*\}|[^`\\])*`|(?<=[=(,:[!&|?{};\n]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/g

/** After `test(`, or after the table of an `each`. */
const title =
  /(?:(?<![.\w])(?:test|describe)\b[^\n]*?|^\s*\](?: as const)?\))\(\s*('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)/gm

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}

/** The expressions in a template are code. */
function inserted(template: string): string {
  return [...template.matchAll(/\$\{((?:[^{}]|\{[^{}]*\})*)\}/g)].map(([, code]) => code).join(', ')
}
