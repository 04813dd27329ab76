import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from '@reply/testing/internal'
import Libsql from 'libsql'
import { expect, test } from 'vitest'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { kept, textOf } from './commits.ts'
import { bundleFixture, type Running, run } from './process.ts'

const rounds = 13

test.each([1, 2])('what was done survives kill -9, and no commit is there in part (seed %i)', async (seed) => {
  const root = await mkdtemp(join(tmpdir(), 'reply-bridge-'))
  const folder = join(root, 'state')
  const script = await bundleFixture('committer', root)
  const random = seededRandom(seed)
  let last = 0
  for (let round = 0; round < rounds; round++) {
    // Kills itself between the first write of a commit and its end: that commit left nothing.
    const within = run(script, folder, `${2 + Math.floor(random() * 60)}`)
    await within.ended
    last = lastOf(within, last)
    await check(folder, [last])

    const anywhere = run(script, folder)
    await expect.poll(() => anywhere.lines.length, { interval: 0 }).toBeGreaterThan(Math.floor(random() * 50))
    for (let turns = random() * 50; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve))
    anywhere.child.kill('SIGKILL')
    await anywhere.ended
    last = lastOf(anywhere, last)
    // The commit that was under way is there as a whole, or not at all.
    last = await check(folder, [last, last + 1])
  }
  const file = new Libsql(join(folder, 'bridge.db'))
  expect(file.prepare('PRAGMA integrity_check').raw().all([])).toEqual([['ok']])
  file.close()
  await rm(root, { recursive: true })
})

/** The last commit that a killed process reported. */
function lastOf({ child, lines }: Running, before: number): number {
  expect(child.signalCode).toBe('SIGKILL')
  expect(lines.filter((line) => !/^(opening|\d+)$/.test(line))).toEqual([])
  return Number(lines.slice(1).at(-1) ?? before)
}

/** Opens the state: it must be as after one of these commits. Resolves with that one. */
async function check(folder: string, possible: readonly number[]): Promise<number> {
  const store = await sqliteStore({ folder })
  const last = Number((await store.read('last')) ?? 0)
  expect(possible).toContain(last)
  const length = Math.min(last, kept)
  const numbers = Array.from({ length }, (_, index) => last - length + 1 + index)
  const entries = numbers.map((number) => ({ id: `${number}`, value: textOf(number) }))
  expect(await store.queue('chat')).toEqual(entries)
  const seen = new Map((await store.list('seen:')).map(({ key, value }) => [key, value]))
  expect(seen).toEqual(new Map(entries.map(({ id, value }) => [`seen:${id}`, value])))
  await store.close()
  return last
}
