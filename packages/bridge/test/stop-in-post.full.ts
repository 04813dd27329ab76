import { holdAnswer, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const chats = [901, 902, 903, 904]

let stage: BridgeStage
let chat = 900
/** Awaited before a post of the bridge goes to the server, and before its response comes back. */
let hold: { readonly request: Promise<void>; readonly response: Promise<void> }
/** Whether the post that is held has begun, or has its response. */
let isHeld = false

beforeAll(async () => {
  stage = await startStage({
    scripts: {
      hello: { steps: [[sayText('Hello to you.')]] },
      ...Object.fromEntries(
        chats.map((id) => [
          `slow${id}`,
          { steps: [[sayText('One moment'), holdAnswer(`slow${id}`), sayText(', done.')]] },
        ]),
      ),
    },
    people: { ann: { ids: chats.map((id) => `tg:${id}`), may: ['prompt', 'approve'] } },
    chats: chats.map((id) => ({ id, type: 'private', title: 'Ann' })),
  })
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

/** A proxy that holds posts of prompts, on the way there or back. */
const slowly: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  if (request.method !== 'POST' || !request.url.includes('/prompt_async')) return await fetch(request)
  const canceled = new Promise<never>((_, reject) => {
    request.signal.addEventListener('abort', () => reject(request.signal.reason))
  })
  isHeld = true
  await Promise.race([hold.request, canceled])
  const response = await fetch(request)
  await Promise.race([hold.response, canceled])
  return response
}

test.each([
  ['is not forwarded', 'request', false],
  ['is not forwarded for a moment', 'request', true],
  ['has no response', 'response', false],
  ['has no response for a moment', 'response', true],
] as const)('a /stop stops a prompt whose post %s', async (_, what, isShort) => {
  chat += 1
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  hold = { request: Promise.resolve(), response: Promise.resolve(), [what]: held }
  isHeld = false
  await stage.start({ fetch: slowly })
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await expect.poll(() => isHeld).toBe(true)
  if (what === 'response') await stage.model.held(`slow${chat}`)
  stage.telegram.say(chat, '/stop')
  if (isShort) release()
  await stage.seen(chat, (screen) => screen.find(({ text }) => /^(⏹️ )?Stopped/m.test(text)))
  release()
  await stage.statusIs(chat, '⏹️')
  await expect.poll(async () => await stage.isAtRest()).toBe(true)
  expect(stage.said(chat).join()).not.toContain('could not be stopped')
  hold = { request: Promise.resolve(), response: Promise.resolve() }
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  await stage.answered(chat, 'Hello to you.')
  expect(stage.said(chat).join()).not.toContain('done.')
})
