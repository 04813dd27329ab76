import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@reply/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseConfig } from '../src/config/parse.ts'
import { BridgeError } from '../src/error.ts'
import { createFileReaders } from '../src/servers/file-readers.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'

let open: HandDriven | undefined
let project: string
beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), 'reply-files-'))
  project = join(home, 'project')
  mkdirSync(project)
  writeFileSync(join(home, 'secret.txt'), 'outside')
  writeFileSync(join(project, 'report.md'), '# A report\n')
  symlinkSync(join(home, 'secret.txt'), join(project, 'link.txt'))
})
afterEach(async () => {
  await open?.chats.close()
  open = undefined
  rmSync(join(project, '..'), { recursive: true, force: true })
})

/** An address with the content of a file. */
const largeContent = `data:,${'x'.repeat(1_000_000)}`

/** Starts a bridge whose agent answers with the files that the prompt names, then says that it is done. `large` is `largeContent`. */
async function openedIn(more: Parameters<typeof startHandDriven>[1] = {}): Promise<HandDriven> {
  const stage = await startHandDriven(
    (run, text) => {
      for (const word of text.split(' '))
        run.write({ type: 'file', mime: 'text/plain', url: word === 'large' ? largeContent : word })
      run.write({ type: 'text', delta: 'Done.' })
      run.end({ type: 'completed' })
    },
    { ...more, server: { directory: project, ...more.server } },
  )
  open = stage
  return stage
}

/** What the chat shows: texts, and the names and contents of files. */
const shown = ({ telegram }: HandDriven): readonly string[] =>
  telegram
    .screen(1)
    .filter(({ from }) => from === 'bot')
    .map(({ text, document }) => (document ? `${document.name}: ${Buffer.from(document.bytes)}` : text))

const isOver = (stage: HandDriven) => (): boolean => shown(stage).includes('Done.')

test('a file inside of the project is sent, and not one outside of it or behind a link', async () => {
  const stage = await openedIn()
  stage.telegram.say(1, 'report.md link.txt ../secret.txt gone.md')
  await stage.passes(isOver(stage))
  expect(shown(stage)).toEqual([
    'report.md: # A report\n',
    "📎 The file link.txt is a link out of its session's directory.",
    "📎 The file secret.txt is outside of its session's directory.",
    '📎 The file gone.md is not there any more.',
    'Done.',
  ])
})

test.each<[string, () => object, () => string]>([
  ['on another computer', () => ({ localFiles: false }), () => project],
  ['in a container, in a folder that is not here', () => ({ directory: '/srv/none' }), () => '/srv/none'],
])('a chat gets the path of a file whose server works %s', async (_, server, folder) => {
  const stage = await openedIn({ server: server() })
  stage.telegram.say(1, `file://${folder()}/report.md`)
  await stage.passes(isOver(stage))
  expect(shown(stage)[0]).toBe(
    `📎 The file report.md is on the agent's computer, or in its container: ${folder()}/report.md. Start reply-tools there with --embed, and the agent can send files from it.`,
  )
})

test('a file of a server that is not safe is refused in a sentence, and the operator gets the reason', async () => {
  const errors: string[] = []
  const readers = createFileReaders({
    config: parseConfig({
      servers: { home: { url: 'http://127.0.0.1:1' } },
      channels: { tg: { type: 'telegram', token: { env: 'T' } } },
      people: {},
    }),
    requireSafe: async () => {
      throw new BridgeError('config', 'It contains files of the bridge.')
    },
    clock: systemClock,
    onError: ({ message }) => errors.push(message),
  })
  const file = { id: 'prt_1', mime: 'text/plain', url: 'report.md' }
  const request = { directory: project, sessionID: 'ses_1', maxBytes: 100, signal: new AbortController().signal }
  await expect(readers('home')(file, request)).rejects.toMatchObject({
    type: 'refused',
    message: expect.stringMatching(/^The file report\.md was not read, because it is not safe/),
  })
  expect(errors).toEqual(['It contains files of the bridge.'])
})

test('a file on the web is downloaded only from a host that the config names', async () => {
  let requests = 0
  const server = createServer((_, response) => {
    requests += 1
    response.end('from the web')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const closed = await openedIn()
    closed.telegram.say(1, `http://${host}/a.txt`)
    await closed.passes(isOver(closed))
    expect([shown(closed)[0], requests]).toEqual([expect.stringContaining(`Files of ${host} are not downloaded`), 0])
    await closed.chats.close()
    const allowed = await openedIn({ router: { fileHosts: [host] } })
    allowed.telegram.say(1, `http://${host}/a.txt`)
    await allowed.passes(isOver(allowed))
    expect([shown(allowed)[0], requests]).toEqual(['a.txt: from the web', 1])
  } finally {
    server.close()
  }
})

test('a file whose posts had no result is read and posted again when a person asks for it, once', async () => {
  const stage = await openedIn()
  stage.telegram.inject({ type: 'status', code: 502, chatId: 1, method: 'sendDocument', times: 2 })
  stage.telegram.say(1, 'report.md')
  await stage.passes(() => shown(stage).some((text) => text.includes('may be missing here')))
  expect(shown(stage).filter((text) => text.startsWith('report.md'))).toEqual([])
  writeFileSync(join(project, 'report.md'), '# A newer report\n')
  stage.telegram.say(1, '/resend')
  await stage.passes(() => shown(stage).some((text) => text.startsWith('report.md')))
  stage.telegram.say(1, '/resend')
  await stage.passes(() => shown(stage).includes('No answer is known to be missing here.'))
  expect(shown(stage).filter((text) => text.startsWith('report.md'))).toEqual(['report.md: # A newer report\n'])
})

test('a file whose content is in its address is posted again, too, and a person is told which is too large to be kept', async () => {
  const stage = await openedIn()
  stage.telegram.inject({ type: 'status', code: 502, chatId: 1, method: 'sendMediaGroup', times: 2 })
  stage.telegram.say(1, 'data:,small large')
  await stage.passes(() => shown(stage).some((text) => text.includes('may be missing here')))
  stage.telegram.say(1, '/resend')
  await stage.passes(() => shown(stage).some((text) => text.includes('too large to be kept')))
  const again = shown(stage).slice(shown(stage).findIndex((text) => text.startsWith('Posted again')) + 1)
  expect(again).toEqual([
    expect.stringMatching(/: small$/),
    expect.stringMatching(
      /^📎 The file .* is too large to be kept, so it can’t be posted again\. Ask the agent for it\.$/,
    ),
  ])
})

test('a file that is gone when a person asks for it again is a sentence', async () => {
  const stage = await openedIn()
  stage.telegram.inject({ type: 'status', code: 502, chatId: 1, method: 'sendDocument', times: 2 })
  stage.telegram.say(1, 'report.md')
  await stage.passes(() => shown(stage).some((text) => text.includes('may be missing here')))
  rmSync(join(project, 'report.md'))
  stage.telegram.say(1, '/resend')
  await stage.passes(() => shown(stage).some((text) => text.includes('is not there any more')))
  stage.telegram.say(1, '/resend')
  await stage.passes(() => shown(stage).includes('No answer is known to be missing here.'))
})

/** Lets the platform answer no post of the bot's next two texts. */
const loseNote = ({ telegram }: HandDriven): void =>
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: /^send(Rich)?Message$/, times: 2 })

/** Has a person ask for what may be missing, until nothing more is. Resolves with what the chat shows then. */
async function resent(stage: HandDriven): Promise<readonly string[]> {
  await stage.passes(() => shown(stage).some((text) => text.includes('may be missing here')))
  const from = shown(stage).length
  stage.telegram.say(1, '/resend')
  await stage.passes(() => shown(stage).length > from)
  stage.telegram.say(1, '/resend')
  await stage.passes(() => shown(stage).at(-1) === 'No answer is known to be missing here.')
  return shown(stage).slice(from, -1)
}

test('a file that is gone is named when a person asks for it, if neither post of its note had a result', async () => {
  const stage = await openedIn()
  loseNote(stage)
  stage.telegram.say(1, 'gone.md')
  await stage.passes(isOver(stage))
  expect(shown(stage).join()).not.toContain('gone.md')
  expect(await resent(stage)).toEqual([
    expect.stringMatching(/^Posted again/),
    '📎 The file gone.md is not there any more.',
  ])
})

test('a file that the platform refuses again is named, and keeps nothing else from being posted', async () => {
  const stage = await openedIn()
  loseNote(stage)
  stage.telegram.inject({ type: 'status', code: 400, chatId: 1, method: 'sendDocument', times: 2 })
  stage.telegram.say(1, 'report.md')
  await stage.passes(isOver(stage))
  expect(await resent(stage)).toEqual([
    expect.stringMatching(/^Posted again/),
    "📎 The file report.md can't be sent to this chat.",
  ])
})

test('of more files than a chat gets whose note is lost, as many are posted when a person asks, and the others are named', async () => {
  const stage = await openedIn()
  const names = Array.from({ length: 45 }, (_, at) => `${at}.md`)
  for (const name of names) writeFileSync(join(project, name), name)
  loseNote(stage)
  stage.telegram.say(1, names.join(' '))
  const [said, ...posted] = await resent(stage)
  expect(said).toMatch(/^Posted again/)
  expect(posted).toEqual([
    ...names.slice(20, 40).map((name) => `${name}: ${name}`),
    '📎 5 more files, not sent because a chat gets 20 of one answer: 40.md, 41.md, 42.md, 43.md, 44.md',
  ])
})
