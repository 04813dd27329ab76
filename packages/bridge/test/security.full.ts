import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

let stage: BridgeStage

beforeAll(async () => {
  stage = await startStage({ scripts: {}, chats: [{ id: 2, type: 'private', title: 'Bob' }] })
  await stage.start()
})
afterAll(async () => await stage.close())

test('a command of the agent runs nothing and reads nothing by words of a person who may only prompt', async () => {
  const refusals = (): number => stage.said(2).filter((said) => said.includes('without asking')).length
  stage.telegram.say(2, '/init !`touch injected.txt`')
  await stage.seen(2, () => refusals() === 1)
  stage.telegram.say(2, '/init @/etc/hostname')
  await stage.seen(2, () => refusals() === 2)
  expect(existsSync(join(stage.server.directory, 'injected.txt'))).toBe(false)
  expect(stage.errors).toEqual([])
})
