import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

/** Returns the line of settings that the README has for an agent, as it stands. */
export function readmeLine(agent: string): string {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const row = readme.split('\n').find((line) => line.startsWith(`| ${agent} |`))
  return row?.match(/`([^`]*)` \|$/)?.[1] ?? expect.fail(`The README has no line for ${agent}.`)
}

/** Returns the environment of an agent on a computer where the package is installed, with `reply-tools` in a folder of `root`. */
export function withProgram(root: string): { readonly PATH: string } {
  const folder = join(root, 'bin')
  mkdirSync(folder, { recursive: true })
  symlinkSync(fileURLToPath(new URL('../bin/reply-tools.mjs', import.meta.url)), join(folder, 'reply-tools'))
  return { PATH: `${folder}${delimiter}${process.env.PATH}` }
}
