import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { scenarioToken, startProxy } from '@reply/testing'
import { expect, test } from 'vitest'
import { connect, type ReplyStream } from '../../src/index.ts'
import { type Faulty, openFaulty } from './faulty.ts'
import { ask } from './live-truth.ts'
import { approve, firstAsk, pendingAt } from './scenes.ts'

/** Which permission is pending when Stop is pressed. `unheard`: a sub-agent's that the stream doesn't send. */
const kinds = ['late', 'lateChild', 'unheard'] as const

/** The latest moment after Stop at which a person presses Allow. */
const lastPressMs = 50

/** On a server of its own. */
export function testLateApprovals(version: string, count: number): void {
  test(`on ${version}, of ${count} commands that are allowed within 50 ms after Stop none runs`, async () => {
    const opened = await openFaulty(version)
    try {
      expect(await allowAfterStop(opened, count)).toEqual([])
    } finally {
      await opened.close()
    }
  })
}

/**
 * Presses Allow after Stop, `count` times, in this program and then as another client. Returns the problems; empty if
 * there are none.
 */
export async function allowAfterStop(faulty: Faulty, count: number): Promise<readonly string[]> {
  const found: string[] = []
  for (let nth = 0; nth < count; nth++) {
    const kind = kinds[nth % kinds.length] ?? 'late'
    const problems = await allowOnceAfterStop(faulty, kind, (nth * lastPressMs) / count)
    found.push(...problems.map((problem) => `${nth} (${kind}): ${problem}`))
  }
  return found
}

async function allowOnceAfterStop(faulty: Faulty, kind: (typeof kinds)[number], pressMs: number): Promise<string[]> {
  const { server } = faulty
  const proof = join(server.directory, 'late.txt')
  await rm(proof, { force: true })
  let silent = (): void => {}
  const isSilent = new Promise<void>((resolve) => {
    silent = resolve
  })
  const proxy = await startProxy({
    target: server.url,
    onFrame: ({ data }) => {
      if (kind !== 'unheard' || !data.includes('"tool":"task"')) return
      proxy.stall()
      silent()
    },
  })
  const opencode = connect({ url: proxy.url, directory: server.directory })
  try {
    const script = kind === 'late' ? 'late' : 'lateChild'
    const stream = opencode.prompt({ text: scenarioToken(script) })
    if (kind === 'unheard') await isSilent
    const heard = kind === 'unheard' ? undefined : await firstAsk(stream)
    const [pending] = await pendingAt(faulty, '/permission', 1)
    const stopped = stream.abort()
    await new Promise((resolve) => setTimeout(resolve, pressMs))
    const pressed = heard && (await opencode.answer(heard, 'once').then(() => 'taken', typeOf))
    const { outcome } = await stopped
    const left = await ask<unknown[]>(server, '/permission')
    if (isNamed(pending)) await approve(faulty, pending.id)
    await another(faulty)
    return [
      ...(pressed === undefined || pressed === 'already-resolved' ? [] : [`the answer was ${pressed}`]),
      ...(outcome === 'aborted' ? [] : [`the reply is ${outcome}`]),
      ...(left.length === 0 ? [] : ['a permission is still pending']),
      ...(existsSync(proof) ? ['the command ran'] : []),
    ]
  } finally {
    await opencode.close()
    await proxy.close()
  }
}

/** A further turn: if the command were to start, it would have started by its end. */
async function another({ server }: Faulty): Promise<void> {
  const opencode = connect({ url: server.url, directory: server.directory })
  const stream: ReplyStream = opencode.prompt({ text: scenarioToken('plain') })
  await stream.result
  await opencode.close()
}

function typeOf(error: unknown): unknown {
  return error instanceof Error && 'type' in error ? error.type : error
}

function isNamed(value: unknown): value is { readonly id: string } {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string'
}
