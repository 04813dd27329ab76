import { holdAnswer, sayText } from '@reply/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

let stage: BridgeStage
afterEach(async () => await stage.close())

const scripts = {
  work: { steps: [[sayText('I work.'), holdAnswer('work')], [sayText('I see the texts.')]] },
  look: { steps: [[sayText('I see the texts.')]] },
}
const one = { kind: 'document', name: 'one.txt', mime: 'text/plain', bytes: Buffer.from('FIRST') } as const
const two = { kind: 'document', name: 'two.txt', mime: 'text/plain', bytes: Buffer.from('SECOND') } as const

/** The prompts that the server has, each with the names of its files. */
async function prompts(): Promise<readonly (readonly string[])[]> {
  const { url, directory } = stage.server
  const get = async (path: string): Promise<ReturnType<typeof JSON.parse>> => {
    const address = new URL(path, url)
    address.searchParams.set('directory', directory)
    return await (await fetch(address)).json()
  }
  const found: string[][] = []
  for (const { id } of await get('/session'))
    for (const { info, parts } of await get(`/session/${id}/message`))
      if (info.role === 'user')
        found.push(parts.flatMap(({ filename }: { readonly filename?: string }) => filename ?? []))
  return found
}

describe.each(['queue', 'steer', 'interrupt'] as const)(
  'an album that arrives while a run is at work, with `busy: %s`',
  (busy) => {
    test('is one prompt with its caption and all its files', async () => {
      stage = await startStage({ scripts, router: { busy } })
      await stage.start()
      stage.telegram.say(1, 'Work. [scenario:work]')
      await stage.model.held('work')
      stage.telegram.say(1, 'Look. [scenario:look]', { file: one, albumId: 'album' })
      stage.telegram.say(1, '', { file: two, albumId: 'album' })
      if (busy === 'queue') await stage.seen(1, (screen) => screen.some(({ text }) => text.includes('Queued')))
      if (busy === 'steer') await expect.poll(async () => (await prompts()).length, { timeout: 60_000 }).toBe(2)
      if (busy !== 'interrupt') stage.model.release('work')
      await stage.seen(1, (screen) => screen.some(({ text }) => text.includes('I see the texts.')))
      expect(await prompts()).toEqual([[], ['one.txt', 'two.txt']])
      expect(JSON.stringify(stage.model.requests)).toMatch(/FIRST.*SECOND/)
    })
  },
)
