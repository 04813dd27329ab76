import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connect, type Reply, toolsOf } from '@reply/core'
import {
  callTool,
  launchOpencode,
  openCode2Password,
  openCode2Version,
  recordedVersions,
  sayText,
  startModel,
} from '@reply/testing'
import { expect, test } from 'vitest'
import { readmeLine, withProgram } from './readme-lines.ts'

const files = { 'charts/sales 2026.png': 'PICTURE', 'rows.csv': 'ROWS' }
const send = (path: string, more = {}) => callTool('reply_send_file', { path, ...more })
const scripts = {
  send: {
    steps: [
      [send('charts/sales 2026.png', { caption: 'Sales' })],
      [send('rows.csv')],
      [send('../secret')],
      [sayText('They are sent.')],
    ],
  },
}

/** Plays a prompt on a real server with the README's line in its settings. */
async function play(version: string, agent: string, password?: string) {
  const root = mkdtempSync(join(tmpdir(), 'reply-tools-'))
  const model = await startModel({ scripts, generation: password === undefined ? 1 : 2 })
  const extra = JSON.parse(`{ ${readmeLine(agent)} }`)
  const server = await launchOpencode({ model, version, files, config: { extra }, env: withProgram(root) })
  const client = connect({ url: server.url, password, directory: server.directory })
  try {
    const reply = await client.prompt({ text: 'Send them. [scenario:send]' }).result
    return {
      reply,
      urlOf: (path: string) => pathToFileURL(join(server.directory, path)).href,
      sent: JSON.stringify(model.requests),
    }
  } finally {
    await client.close()
    await server.stop()
    await model.close()
    rmSync(root, { recursive: true })
  }
}

const outputs = (reply: Reply) => toolsOf(reply).map(({ state }) => state.output ?? state.error)
const sentences = [
  'Attached for the people in the chat: sales 2026.png (image/png, 7 B).',
  'Attached for the people in the chat: rows.csv (text/csv, 4 B).',
  'The path "../secret" has "..". Give a path inside of the project.',
]
/** What no model may get: the content of a file. */
const content = new RegExp(
  `${Buffer.from('PICTURE').toString('base64')}|PICTURE|${Buffer.from('ROWS').toString('base64')}`,
)

test.each([recordedVersions[0], recordedVersions[recordedVersions.length - 1] ?? ''])(
  'OpenCode %s has the file in the metadata of the call, and its model none of the content',
  async (version) => {
    const { reply, urlOf, sent } = await play(version, 'OpenCode 1')
    expect(outputs(reply)).toEqual(sentences)
    expect(toolsOf(reply).map(({ state }) => state.metadata?.attachments)).toEqual([
      [
        {
          ...{ type: 'file', mime: 'image/png', url: urlOf('charts/sales 2026.png'), filename: 'sales 2026.png' },
          ...{ size: 7, caption: 'Sales' },
        },
      ],
      [{ type: 'file', mime: 'text/csv', url: urlOf('rows.csv'), filename: 'rows.csv', size: 4 }],
      undefined,
    ])
    expect(sent).not.toMatch(content)
  },
)

test(`OpenCode ${openCode2Version} has the address of the file in the output of the call, and its model none of the content`, async () => {
  const { reply, urlOf, sent } = await play(openCode2Version, 'OpenCode 2', openCode2Password)
  expect(outputs(reply)).toEqual([
    `${sentences[0]}\n${urlOf('charts/sales 2026.png')}`,
    `${sentences[1]}\n${urlOf('rows.csv')}`,
    sentences[2],
  ])
  expect(sent).not.toMatch(content)
})
