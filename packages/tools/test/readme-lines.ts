import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

/** Returns the line of settings that the README has for an agent, as it stands. */
export function readmeLine(agent: string): string {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const row = readme.split('\n').find((line) => line.startsWith(`| ${agent} |`))
  return row?.match(/`([^`]*)` \|$/)?.[1] ?? expect.fail(`The README has no line for ${agent}.`)
}

/**
 * Returns the environment of an agent on a computer where the package is installed, with `reply-tools` in a folder of `root`.
 * The program is as slow to start as on a busy computer if `startsAfterSeconds` says so.
 */
export function withProgram(root: string, startsAfterSeconds = 0): { readonly PATH: string } {
  const folder = join(root, 'bin')
  mkdirSync(folder, { recursive: true })
  const program = fileURLToPath(new URL('../bin/reply-tools.mjs', import.meta.url))
  const script = ['#!/bin/sh', `sleep ${startsAfterSeconds}`, `exec '${program}' "$@"`, '']
  writeFileSync(join(folder, 'reply-tools'), script.join('\n'), { mode: 0o755 })
  return { PATH: `${folder}${delimiter}${process.env.PATH}` }
}
