import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connect, filesOf, type Reply, toolsOf } from '@reply/core'
import {
  callTool,
  launchOpencode,
  openCode2Password,
  openCode2Version,
  recordedVersions,
  sayText,
  startModel,
} from '@reply/testing'
import { redact } from '@reply/testing/internal'
import { readmeLine, withProgram } from './readme-lines.ts'

/** The oldest and the newest version of OpenCode 1, and OpenCode 2. */
export const versions = [recordedVersions[0], ...recordedVersions.slice(-1), openCode2Version]

/** The contents of the files, which no model may get. */
export const contents = ['PICTURE', 'ROWS']

const [picture = '', rows = ''] = contents
/** A picture of one pixel, for agents that decode pictures. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const files = { 'charts/sales 2026.png': picture, 'rows.csv': rows }
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

/**
 * Plays a prompt on a real server with the README's line in its settings. Resolves with the reply, the project's address, all that the
 * model got, and the frames of the event stream, without what differs from machine to machine.
 */
export async function playSendFile(version: string, embeds = false) {
  const isSecond = version === openCode2Version
  const root = mkdtempSync(join(tmpdir(), 'reply-tools-'))
  const model = await startModel({ scripts, generation: isSecond ? 2 : 1 })
  const line = readmeLine(isSecond ? 'OpenCode 2' : 'OpenCode 1')
  const extra = JSON.parse(`{ ${embeds ? line.replace('"reply-tools"', '"reply-tools", "--embed"') : line} }`)
  const server = await launchOpencode({
    model,
    version,
    files: embeds ? { ...files, 'charts/sales 2026.png': pixel } : files,
    config: { extra },
    env: withProgram(root),
  })
  const frames: string[] = []
  const client = connect({
    url: server.url,
    password: isSecond ? openCode2Password : undefined,
    directory: server.directory,
    onFrame: (data) => frames.push(data),
  })
  const ports = { serverPort: Number(new URL(server.url).port), modelPort: Number(new URL(model.url).port) }
  try {
    if (isSecond) await untilConnected(server)
    const reply = await client.prompt({ text: 'Send them. [scenario:send]' }).result
    return {
      reply,
      project: pathToFileURL(server.directory).href,
      sent: JSON.stringify(model.requests),
      frames: frames.map((data) => redact(data, { directory: server.directory, home: root, root, ...ports })),
    }
  } finally {
    await client.close()
    await server.stop()
    await model.close()
    rmSync(root, { recursive: true })
  }
}

/** Waits until OpenCode 2 has its MCP servers. It runs prompts without them meanwhile. */
async function untilConnected({ url, directory }: Awaited<ReturnType<typeof launchOpencode>>): Promise<void> {
  const address = new URL('/api/mcp', url)
  address.searchParams.set('location[directory]', directory)
  const authorization = `Basic ${Buffer.from(`opencode:${openCode2Password}`).toString('base64')}`
  for (let body = ''; !body.includes('"connected"'); await new Promise((resolve) => setTimeout(resolve, 50)))
    body = await (await fetch(address, { headers: { authorization } })).text()
}

/** What a reply has of the files, with the project at this address, and the texts of the three calls. */
export function outlineOf(reply: Reply) {
  return {
    files: filesOf(reply).map(({ id: _, ...file }) => file),
    outputs: toolsOf(reply).map(({ state }) => (state.output ?? state.error)?.split('\n')[0]),
  }
}

/** The outline that is expected. OpenCode 2 makes a text of the link, which has no size. */
export const expectedOf = (version: string, project: string) => ({
  files: [
    {
      mime: 'image/png',
      url: `${project}/charts/sales%202026.png`,
      filename: 'sales 2026.png',
      size: version === openCode2Version ? undefined : 7,
      caption: 'Sales',
    },
    {
      mime: 'text/csv',
      url: `${project}/rows.csv`,
      filename: 'rows.csv',
      size: version === openCode2Version ? undefined : 4,
      caption: undefined,
    },
  ],
  outputs: [
    'Attached for the people in the chat: sales 2026.png (image/png, 7 B).',
    'Attached for the people in the chat: rows.csv (text/csv, 4 B).',
    'The path "../secret" has "..". Give a path inside of the project.',
  ],
})
