import * as core from '@reply/core'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readmeProgram } from '../../ui/test/readme-program.ts'
import * as web from '../src/index.ts'
import { replyWith, text } from './make.ts'
import { readEvents } from './pages-stage.ts'

/** The program of the README, with a server that is called by hand and a client that reports one run. */
async function program() {
  vi.stubEnv('WEB_SECRET', 'a'.repeat(32))
  onTestFinished(() => void vi.unstubAllEnvs())
  let handle: ((request: Request) => Promise<Response>) | undefined
  const watch: core.Client['watch'] = (_, { observe }) => {
    observe(replyWith([text('a', 'Hello')]))
    return () => {}
  }
  const { linkFor } = await readmeProgram('web', {
    'node:http': { createServer: () => ({ listen: () => {} }) },
    '@reply/core': { ...core, connect: () => ({ watch }) },
    '@reply/web': {
      ...web,
      toNodeListener: (given: typeof handle) => {
        handle = given
      },
    },
  })
  if (typeof linkFor !== 'function' || !handle) throw new Error('The README serves no pages.')
  return { linkFor, handle }
}

test("the README's program shows a run to a person with its link, and to them alone", async () => {
  const { linkFor, handle } = await program()
  const { origin, pathname, hash } = new URL(linkFor('ses_1', { id: 'tg:7', name: 'Ann' }))
  expect((await handle(new Request(`${origin}${pathname}`))).status).toBe(200)
  const api = (path: string, token: string, init: RequestInit = {}) =>
    handle(new Request(`${origin}/api/runs/${path}`, { ...init, headers: { authorization: `Bearer ${token}` } }))
  const token = hash.slice(1)
  const reader = readEvents(await api('ses_1/events', token))
  await reader.until((events) => events.length === 2)
  expect(reader.events[0]?.data).toMatchObject({ who: 'Ann', mayAnswer: false, mayStop: false })
  expect(JSON.stringify(reader.page())).toContain('Hello')
  await reader.cancel()
  expect((await api('ses_1/events', `${token}x`)).status).toBe(401)
  expect((await api('ses_2/events', token)).status).toBe(401)
  expect((await api('events', token)).status).toBe(401)
  expect((await api('ses_1/stop', token, { method: 'POST' })).status).toBe(403)
})

test("the README's program does not start without a secret", async () => {
  vi.stubEnv('WEB_SECRET', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  const modules = { 'node:http': {}, '@reply/core': { ...core, connect: () => ({}) }, '@reply/web': web }
  await expect(readmeProgram('web', modules)).rejects.toThrow(/openssl rand -base64 32/)
})
