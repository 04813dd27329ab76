import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ask, Change, ReplyStream } from '../../src/index.ts'
import { type Faulty, type LivePlan, playLive } from './faulty.ts'
import { ask, judge } from './live-truth.ts'
import { eventually } from './patience.ts'

export async function firstAsk(stream: ReplyStream): Promise<Ask> {
  for await (const change of stream.filter(['questionAsked', 'permissionAsked'])) return change.ask
  throw new Error('The reply settled without an ask.')
}

export const answering: LivePlan = {
  script: 'question',
  act: async ({ stream, opencode }) => await opencode.answer(await firstAsk(stream), [['Blue']]),
}

export const allowing: LivePlan = {
  script: 'child',
  act: async ({ stream, opencode }) => await opencode.answer(await firstAsk(stream), 'once'),
}

/** Whether the command that needs a permission has run. */
export const isTouched = ({ server }: Faulty): boolean => existsSync(join(server.directory, 'asked-for.txt'))

/** Waits until the stream was lost and is up again. */
export async function restored(stream: ReplyStream): Promise<void> {
  let wasLost = false
  for await (const change of stream) {
    if (change.type !== 'connectionChanged') continue
    if (stream.reply?.connection === 'lost') wasLost = true
    else if (wasLost) return
  }
  throw new Error('The reply settled before the connection came back.')
}

export const typesOf = (changes: readonly Change[], ...types: readonly Change['type'][]): readonly string[] =>
  changes.map((change) => change.type).filter((type) => types.includes(type))

/** Waits until the server, read without the proxy, has something pending, or nothing. */
export async function pendingAt(
  { server }: Faulty,
  path: '/permission' | '/question',
  count: number,
): Promise<unknown[]> {
  return await eventually(60_000, async () => {
    const list = await ask<unknown[]>(server, path)
    return list.length === count ? list : undefined
  })
}

/** Allows a permission as another client would. Returns the response status. */
export async function approve({ server }: Faulty, requestID: string): Promise<number> {
  const url = `${server.url}/permission/${requestID}/reply?directory=${encodeURIComponent(server.directory)}`
  const headers = { 'content-type': 'application/json' }
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify({ reply: 'once' }) })).status
}

/**
 * Aborts while a command waits for its permission, and allows it as another client right after the abort. Returns the
 * problems; empty if there are none.
 */
export async function approveLate(faulty: Faulty, script: 'late' | 'lateChild'): Promise<string[]> {
  const { server } = faulty
  let status = 0
  const played = await playLive(faulty, {
    script,
    act: async ({ stream }) => {
      const { requestID } = await firstAsk(stream)
      await stream.abort()
      status = await approve(faulty, requestID)
    },
  })
  // A further turn: if the command were to start, it would have started by now.
  await playLive(faulty, { script: 'plain' })
  const found = await judge(server, played)
  if (status !== 404 && status !== 200) found.push(`the late approval got ${status}`)
  if (played.reply.outcome !== 'aborted') found.push(`the reply is ${played.reply.outcome}`)
  if (existsSync(join(server.directory, 'late.txt'))) found.push('the command ran')
  return found
}

/** Removes what an earlier command has made. */
export const untouch = async ({ server }: Faulty): Promise<void> =>
  await rm(join(server.directory, 'asked-for.txt'), { force: true })
