import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openCode2Password } from '@reply/testing'
import type { Ask, ReplyStream } from '../../src/index.ts'
import type { Stage } from '../drive/server.ts'

/** Whose permission is pending when Stop is pressed: the session's own, or its sub-agent's. */
const scripts = ['permission', 'child'] as const

/** The latest moment after Stop at which a person presses Allow. */
const lastPressMs = 50

/** Calls a server of OpenCode 2 as another client would. Returns the response's status. */
export async function post({ server }: Stage, route: string, body: object): Promise<number> {
  const authorization = `Basic ${Buffer.from(`opencode:${openCode2Password}`).toString('base64')}`
  const headers = { authorization, 'content-type': 'application/json' }
  return (await fetch(`${server.url}${route}`, { method: 'POST', headers, body: JSON.stringify(body) })).status
}

export async function firstAsk(stream: ReplyStream): Promise<Ask> {
  for await (const { ask } of stream.filter(['permissionAsked', 'askChanged']))
    if (ask.type === 'permission' && ask.call) return ask
  throw new Error(`The reply settled without an ask: ${stream.reply?.outcome}`)
}

/**
 * Presses Allow after Stop, `count` times, in this program and then as another client. Returns the problems; empty if
 * there are none.
 */
export async function allowAfterStop(stage: Stage, count: number): Promise<readonly string[]> {
  const found: string[] = []
  for (let nth = 0; nth < count; nth++) {
    const script = scripts[nth % scripts.length] ?? 'permission'
    const problems = await allowOnce(stage, script, (nth * lastPressMs) / count)
    found.push(...problems.map((problem) => `${nth} (${script}): ${problem}`))
  }
  return found
}

async function allowOnce(stage: Stage, script: string, pressMs: number): Promise<readonly string[]> {
  const { opencode, server } = stage
  const proof = join(server.directory, 'asked-for.txt')
  await rm(proof, { force: true })
  const stream = opencode.prompt({ text: `[scenario:${script}]` })
  const ask = await firstAsk(stream)
  const stopped = stream.abort()
  await new Promise((resolve) => setTimeout(resolve, pressMs))
  const pressed = await opencode.answer(ask, 'once').then(() => 'taken', typeOf)
  const { outcome, sessionID } = await stopped
  const status = await post(stage, `/api/session/${ask.sessionID}/permission/${ask.requestID}/reply`, { reply: 'once' })
  // If the command were to start, it would have started by the end of a further turn.
  const next = await opencode.prompt({ sessionID, text: '[scenario:plain]' }).result
  return [
    ...(pressed === 'already-resolved' ? [] : [`the answer was ${pressed}`]),
    ...(outcome === 'aborted' ? [] : [`the reply is ${outcome}`]),
    ...(status === 404 ? [] : [`another client's answer got ${status}`]),
    ...(next.outcome === 'completed' ? [] : [`the next reply is ${next.outcome}`]),
    ...(existsSync(proof) ? ['the command ran'] : []),
  ]
}

function typeOf(error: unknown): unknown {
  return error instanceof Error && 'type' in error ? error.type : error
}
