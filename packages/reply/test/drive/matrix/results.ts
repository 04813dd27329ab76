import { mkdirSync, writeFileSync } from 'node:fs'

/** Writes a long run's result; `scripts/compatibility.mjs` puts it into `docs/compatibility.md`. */
export function writeResult(name: string, result: object): void {
  const folder = new URL('./results/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(result, undefined, 2)}\n`)
}
