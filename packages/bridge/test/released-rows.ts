import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import * as z from 'zod'
import { rowSchemas } from '../src/state/decode.ts'
import type { Write } from '../src/store/store.ts'
import { keyWithoutShard } from './shard-rows.ts'

/** What the newest released version can read: a line for each kind of row. CONTRIBUTING.md says when to record it anew. */
export const releasedFile = fileURLToPath(new URL('released-rows.jsonl', import.meta.url))

/** JSON schemas of rows, by the beginnings of their keys or queues. */
type RowSchemas = Readonly<Record<string, object>>

/** Returns the schemas of the rows that this version can read. */
export function currentRows(): RowSchemas {
  return Object.fromEntries(
    Object.entries(rowSchemas).map(([kind, schema]) => [kind, z.toJSONSchema(schema, { io: 'input' })]),
  )
}

/** Returns the text of `releasedFile` for this version. */
export function currentRecording(): string {
  return Object.entries(currentRows())
    .map((row) => `${JSON.stringify(row)}\n`)
    .join('')
}

/** Returns the schemas of the rows that the released version can read. */
export function releasedRows(): RowSchemas {
  const lines = readFileSync(releasedFile, 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map((line) => JSON.parse(line)))
}

/** Returns each value of an enum and each required field in schemas, with its path. */
export function demandsIn(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]): readonly string[] => {
    if (name === 'enum' || name === 'required') return [inner].flat().map((one) => `${path}/${name} ${one}`)
    return name === 'const' ? [`${path}/enum ${inner}`] : demandsIn(inner, `${path}/${name}`)
  })
}

const ajv = new Ajv2020({ strict: false })
let checks: ReadonlyMap<string, ValidateFunction> | undefined

/** Returns what the released version can't read of a write, or nothing. It does not read rows of new kinds. */
export function faultsForReleased(write: Write): readonly string[] {
  if (!('value' in write) || write.value === undefined) return []
  checks ??= new Map(Object.entries(releasedRows()).map(([kind, schema]) => [kind, ajv.compile(schema)]))
  const [kind = ''] = /^[^/]*\//.exec(keyWithoutShard('queue' in write ? write.queue : write.key)) ?? []
  const check = checks.get(kind)
  return check && !check(JSON.parse(write.value)) ? [`${kind}: ${ajv.errorsText(check.errors)}`] : []
}
