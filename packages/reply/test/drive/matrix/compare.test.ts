import { openCode2Version } from '@reply/testing'
import { expect, test } from 'vitest'
import { type Child, type Reply, replay } from '../../../src/index.ts'
import { readTape } from '../../second/recorded.ts'
import { compare } from './compare.ts'

const scenario = 'subagent-background-two'

/** The problems of a recorded run whose sub-agents are changed. */
async function problemsOf(change: (children: readonly Child[]) => readonly Child[]): Promise<readonly string[]> {
  const { bytes, frames, sessions } = readTape(scenario)
  const replies = await replay(bytes)
  const watched = replies.map((reply: Reply) => ({ reply: { ...reply, children: change(reply.children) }, ends: 1 }))
  const heard = frames.map(({ type, data }) => ({ type, properties: data }))
  return compare(openCode2Version, scenario, { watched, prompted: [], sessions, frames: heard })
}

test('a server may create the sub-agents of parallel calls in any order', async () => {
  expect(await problemsOf((children) => children)).toEqual([])
  expect(await problemsOf((children) => children.toReversed())).toEqual([])
})

test('the sub-agent of each call must end as stated', async () => {
  const calls = ['call_0002', 'call_0001']
  const exchanged = await problemsOf((children) => children.map((child, at) => ({ ...child, callID: calls[at] })))
  expect(exchanged).toEqual([expect.stringContaining('completed[background completed background open]')])
})
