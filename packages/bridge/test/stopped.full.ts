import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from '@reply/testing/internal'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../src/store/store.ts'
import { bundleFixture, type Running, run } from './process.ts'

const forMs = '200'

let root = ''
let store: Store
let holders: readonly [Running, Running]
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'reply-bridge-'))
  // Its reads may wait for as long as a process is stopped within a write.
  store = await sqliteStore({ folder: join(root, 'state'), busyTimeoutMs: 60_000 })
})
afterEach(async () => {
  for (const { child } of holders) child.kill('SIGKILL')
  await store.close()
  await rm(root, { recursive: true })
})

test('a process that stops before a commit and wakes after its lease is fenced: no job is lost or done twice', async () => {
  await start('150')
  for (let round = 0; round < 15; round++) {
    await expect.poll(() => holders.some(isStopping)).toBe(true)
    const [stopped, other] = isStopping(holders[0]) ? holders : holders.toReversed()
    const from = stopped.lines.length
    await expect.poll(() => fenceOf(other)).toBeGreaterThan(fenceOf(stopped))
    await expect.poll(() => wake(stopped) && firstWord(stopped, from)).toBe('fenced')
  }
  await finish(500)
})

test('a process that is stopped anywhere changes nothing after its lease: no job is lost or done twice', async () => {
  await start('none')
  const random = seededRandom(7)
  for (let round = 0; round < 15; round++) {
    await expect.poll(() => Math.max(...holders.map(fenceOf))).toBeGreaterThan(0)
    const [holder, other] = fenceOf(holders[0]) > fenceOf(holders[1]) ? holders : holders.toReversed()
    const goal = (await jobs()) + Math.ceil(random() * 40)
    await expect.poll(jobs, { interval: 1 }).toBeGreaterThan(goal)
    const [from, fence] = [other.lines.length, fenceOf(holder)]
    holder.child.kill('SIGSTOP')
    // If it was stopped within a write, the file stays locked, and the other can do nothing but say so.
    await expect.poll(() => fenceOf(other) > fence || other.lines.includes('busy', from)).toBe(true)
    wake(holder)
    const took = holder.lines.indexOf(`took ${fence}`) + 1
    if (fenceOf(other) > fence) await expect.poll(() => firstWord(holder, took)).toMatch(/^(fenced|lost)$/)
  }
  await expect.poll(jobs).toBeGreaterThan(1000)
  await finish(1000)
})

async function start(stopAfter: string): Promise<void> {
  const script = await bundleFixture('holder', root)
  const [one, other] = ['one', 'other'].map((name) => run(script, join(root, 'state'), name, stopAfter, forMs))
  if (!one || !other) throw new Error('Two were started.')
  holders = [one, other]
}

/** Lets both end and checks that each job was done once, in order, under fences that grow. */
async function finish(least: number): Promise<void> {
  await store.commit([{ type: 'put', key: 'finish', value: 'yes' }])
  await expect.poll(() => holders.every(wake) && holders.map(({ child }) => child.exitCode)).toEqual([0, 0])
  const count = await jobs()
  expect(count).toBeGreaterThan(least)
  expect(await store.queue('jobs')).toEqual([])
  const done = (await store.list('done:')).map(
    ({ key, value }) => [...key.split(':').slice(1).map(Number), value] as const,
  )
  const ordered = done.toSorted(([one], [other]) => Number(one) - Number(other))
  expect(ordered.map(([id, , value]) => [id, value])).toEqual(
    Array.from({ length: count }, (_, index) => [index + 1, `job ${index + 1}`]),
  )
  const fences = ordered.map(([, fence]) => Number(fence))
  expect(fences).toEqual(fences.toSorted((one, other) => one - other))
}

/** How many jobs were enqueued. */
async function jobs(): Promise<number> {
  return Number((await store.read('next')) ?? 1) - 1
}

function isStopping({ lines }: Running): boolean {
  return lines.at(-1) === 'stopping'
}

/** The last fence that it took; 0 before the first. */
function fenceOf({ lines }: Running): number {
  return Number(lines.findLast((line) => line.startsWith('took '))?.slice(5) ?? 0)
}

/** What it printed first from a line on, but for `busy`. */
function firstWord({ lines }: Running, from: number): string | undefined {
  return lines.slice(from).find((line) => line !== 'busy')
}

function wake({ child }: Running): true {
  child.kill('SIGCONT')
  return true
}
