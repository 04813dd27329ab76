import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../../', import.meta.url))

/** The `reply` command of this version. */
export const ownCommand = commandIn(root)

/** Returns the short id of a commit. Throws if the history has no such commit, or there is none. */
export function commitOf(ref: string): string {
  return git('rev-parse', '--short=12', '--verify', `${ref}^{commit}`)
}

/**
 * Builds another version of this repository in a temporary folder, and returns its `reply` command. It takes minutes, or seconds if
 * that commit was built there before. Throws if it has other tables.
 */
export function buildVersion(commit: string): string {
  if (tablesAt(commit) !== tablesAt('HEAD'))
    throw new Error(`Commit ${commit} has another version 1 of the tables, so its bridges can't run beside these.`)
  const folder = join(tmpdir(), `reply-version-${commit}`)
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-x', '-C', folder], {
    input: execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 1e9 }),
    stdio: ['pipe', 2, 2],
  })
  execFileSync(process.execPath, ['scripts/setup.mjs'], { cwd: folder, stdio: ['ignore', 2, 2] })
  return commandIn(folder)
}

/** The first version of the tables at a commit, as it was recorded. Empty before that. */
function tablesAt(commit: string): string {
  const path = 'packages/postgres/test/versions/version-1.sql'
  return git('ls-tree', commit, '--format=%(objectname)', path)
}

function commandIn(folder: string): string {
  return join(folder, 'packages/console/bin/reply.mjs')
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
}
