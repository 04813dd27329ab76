import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openInProject, requireStable } from '../src/project-file.ts'

const bin = fileURLToPath(new URL('../bin/reply-tools.mjs', import.meta.url))

/** A folder with the project in it, and what is outside of the project. */
let root = ''
let project = ''
let client: Client

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'reply-send-file-')))
  project = join(root, 'shop')
  mkdirSync(join(project, 'charts'), { recursive: true })
  mkdirSync(join(root, 'secrets'))
  // A neighbour whose path begins like the project's.
  mkdirSync(join(root, 'shop-secrets'))
  for (const name of ['secrets/key.txt', 'shop-secrets/key.txt']) writeFileSync(join(root, name), 'SECRET')
  writeFileSync(join(project, 'charts/sales 2026.png'), 'a picture')
  client = await connectIn(project)
})

afterAll(async () => {
  await client.close()
  rmSync(root, { recursive: true })
})

const connectIn = async (cwd: string, ...args: string[]): Promise<Client> => await connectAs('test', cwd, ...args)

async function connectAs(name: string, cwd: string, ...args: string[]): Promise<Client> {
  const connected = new Client({ name, version: '1' })
  const command = { command: process.execPath, args: [bin, ...args], cwd }
  await connected.connect(new StdioClientTransport(command) as Transport)
  return connected
}

const send = async (path: unknown, more: Readonly<Record<string, unknown>> = {}, by = client) =>
  await by.callTool({ name: 'send_file', arguments: { path, ...more } })

const refusal = (text: string) => ({ content: [{ type: 'text', text }], isError: true })

const write = (name: string, content = 'content'): void => writeFileSync(join(project, name), content)

describe('with --embed', () => {
  const data = Buffer.from('a picture').toString('base64')
  const text = { type: 'text', text: 'Attached for the people in the chat: sales 2026.png (image/png, 9 B).' }

  test('OpenCode 1 gets the content in the metadata, which its model does not get', async () => {
    const opencode = await connectAs('opencode', project, '--embed')
    expect(await send('charts/sales 2026.png', { caption: 'Sales' }, opencode)).toEqual({
      content: [text],
      metadata: {
        attachments: [
          {
            ...{ type: 'file', mime: 'image/png', filename: 'sales 2026.png', size: 9, caption: 'Sales' },
            url: `data:image/png;base64,${data}`,
          },
        ],
      },
      isError: false,
    })
    await opencode.close()
  })

  test('another agent gets pictures, and a sentence for all else', async () => {
    const other = await connectIn(project, '--embed')
    write('rows.csv')
    expect(await send('charts/sales 2026.png', {}, other)).toEqual({
      content: [text, { type: 'image', data, mimeType: 'image/png' }],
      isError: false,
    })
    expect(await send('rows.csv', {}, other)).toEqual(
      refusal(
        'The file "rows.csv" can\'t be sent: this agent passes on the content of pictures alone (PNG, JPEG, GIF, WebP).',
      ),
    )
    await other.close()
  })

  test('a file has 5 MB at most, whatever --max-mb allows', async () => {
    const other = await connectAs('opencode', project, '--embed', '--max-mb', '50')
    write('large.txt', 'x'.repeat(5_000_001))
    expect(await send('large.txt', {}, other)).toEqual(
      refusal('The file "large.txt" has 5.1 MB. At most 5 MB can be sent.'),
    )
    await other.close()
  })
})

describe('a file of the project', () => {
  test('becomes a link, and the metadata that OpenCode 1 passes on', async () => {
    const uri = `${pathToFileURL(project).href}/charts/sales%202026.png`
    const attachment = {
      type: 'file',
      mime: 'image/png',
      url: uri,
      filename: 'sales 2026.png',
      size: 9,
      caption: 'Sales',
    }
    expect(await send('charts/sales 2026.png', { caption: ' Sales\n' })).toEqual({
      content: [
        { type: 'text', text: 'Attached for the people in the chat: sales 2026.png (image/png, 9 B).' },
        { type: 'resource_link', uri, name: 'sales 2026.png', mimeType: 'image/png', size: 9, description: 'Sales' },
      ],
      metadata: { attachments: [attachment] },
      isError: false,
    })
  })

  test.each([
    ['by its absolute path', () => join(project, 'charts/sales 2026.png')],
    ['by a path with dots and doubled slashes', () => './charts//./sales 2026.png'],
    ['through a link in the project', () => 'inner/sales 2026.png'],
  ])('is found %s', async (_, pathOf) => {
    rmSync(join(project, 'inner'), { force: true })
    symlinkSync('charts', join(project, 'inner'))
    const link = { type: 'resource_link', uri: `${pathToFileURL(project).href}/charts/sales%202026.png` }
    expect(await send(pathOf())).toMatchObject({ content: [{}, link], isError: false })
  })

  test.each([
    ['report.PDF', 'application/pdf'],
    ['rows.csv', 'text/csv'],
    ['..notes', 'application/octet-stream'],
    ['constructor', 'application/octet-stream'],
    ['a.constructor', 'application/octet-stream'],
    ['ü #%?.zip', 'application/zip'],
  ])('named %s has the type %s', async (name, mimeType) => {
    write(name)
    const uri = pathToFileURL(join(project, name)).href
    expect(await send(name)).toMatchObject({ content: [{}, { name, uri, mimeType, size: 7 }], isError: false })
  })

  test('is not in the result itself, which goes to the model', async () => {
    write('large.bin', 'x'.repeat(5_000_000))
    expect(JSON.stringify(await send('large.bin')).length).toBeLessThan(1000)
  })

  test('may have the size of the limit, and no byte more', async () => {
    const limited = await connectIn(project, '--max-mb', '0.001')
    write('exact.txt', 'x'.repeat(1000))
    write('above.txt', 'x'.repeat(1001))
    expect(await send('exact.txt', {}, limited)).toMatchObject({ isError: false })
    expect(await send('above.txt', {}, limited)).toEqual(
      refusal('The file "above.txt" has 1.1 kB. At most 1 kB can be sent.'),
    )
    await limited.close()
  })

  test('is one of the directory in the argument', async () => {
    const other = await connectIn(root, 'shop/charts')
    expect(await send('sales 2026.png', {}, other)).toMatchObject({ isError: false })
    expect(await send(join(root, 'secrets/key.txt'), {}, other)).toMatchObject({ isError: true })
    await other.close()
  })
})

describe('a refusal says why:', () => {
  const outside = (path: string) =>
    `${JSON.stringify(path)} is outside of the project. Only files in the project can be sent.`
  const linkOut = (path: string) =>
    `"${path}" is behind a link that leads out of the project. Only files in the project can be sent.`
  const missing = (path: string) => `There is no file "${path}" in the project.`

  test('a path with ..', async () => {
    for (const path of ['../secrets/key.txt', 'charts/../../secrets/key.txt', 'charts/../x', '..', '..\\x'])
      expect(await send(path)).toEqual(
        refusal(`The path ${JSON.stringify(path)} has "..". Give a path inside of the project.`),
      )
  })

  test('an absolute path elsewhere', async () => {
    for (const path of [join(root, 'secrets/key.txt'), join(root, 'shop-secrets/key.txt'), '/etc/passwd', '/dev/zero'])
      expect(await send(path)).toEqual(refusal(outside(path)))
  })

  test('a link that leads out', async () => {
    symlinkSync(join(root, 'secrets/key.txt'), join(project, 'key.txt'))
    symlinkSync('../secrets', join(project, 'out'))
    symlinkSync('/dev/zero', join(project, 'zeros'))
    for (const path of ['key.txt', 'out/key.txt', 'zeros']) expect(await send(path)).toEqual(refusal(linkOut(path)))
  })

  test('a link that leads nowhere, or to itself', async () => {
    symlinkSync('nothing', join(project, 'dangling'))
    symlinkSync('loop', join(project, 'loop'))
    expect(await send('dangling')).toEqual(refusal(missing('dangling')))
    expect(await send('loop')).toEqual(refusal('The links of "loop" lead to no file.'))
  })

  test('no file', async () => {
    for (const path of ['nothing.png', 'charts/sales 2026.png/x'])
      expect(await send(path)).toEqual(refusal(missing(path)))
  })

  test('a folder', async () => {
    expect(await send('charts')).toEqual(refusal('"charts" is a folder. Make an archive of it, and send that.'))
    for (const path of ['.', project])
      expect(await send(path)).toEqual(
        refusal(`${JSON.stringify(path)} is a folder. Make an archive of it, and send that.`),
      )
  })

  test('a pipe, which is not opened', async () => {
    execFileSync('mkfifo', [join(project, 'pipe')])
    expect(await send('pipe')).toEqual(refusal('"pipe" is a pipe. Only regular files can be sent.'))
  })

  test('a socket', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(join(project, 'socket'), resolve))
    expect(await send('socket')).toEqual(refusal('"socket" is a socket. Only regular files can be sent.'))
    await new Promise((resolve) => server.close(resolve))
  })

  test('a device', async () => {
    // Making one needs root, so the device's own folder is the project.
    const devices = await connectIn('/dev')
    for (const path of ['null', 'zero', '/dev/tty'])
      expect(await send(path, {}, devices)).toEqual(refusal(`"${path}" is a device. Only regular files can be sent.`))
    await devices.close()
  })

  test('a name of 300 characters, or a path of 10,000', async () => {
    const name = 'x'.repeat(300)
    const path = 'é/'.repeat(5000)
    expect(await send(name)).toEqual(refusal(`The path "${'x'.repeat(100)}…" is too long.`))
    expect(await send(path)).toEqual(refusal(missing(`${path.slice(0, 100)}…`)))
  })

  test('2 GB', async () => {
    const file = openSync(join(project, 'sparse.bin'), 'w')
    ftruncateSync(file, 2_000_000_000)
    closeSync(file)
    expect(await send('sparse.bin')).toEqual(refusal('The file "sparse.bin" has 2 GB. At most 50 MB can be sent.'))
  })

  test('nothing in it', async () => {
    write('empty.txt', '')
    expect(await send('empty.txt')).toEqual(refusal('The file "empty.txt" is empty.'))
  })

  test.each([
    ['EACCES', 'The file "broken.txt" can\'t be read: the permission is missing.'],
    ['EIO', 'The file "broken.txt" can\'t be read (EIO).'],
  ])('%s of the system', async (code, text) => {
    write('broken.txt')
    const file = await openInProject('broken.txt', { project, maxBytes: 1000 })
    const read = async () => await Promise.reject(Object.assign(new Error('refused'), { code }))
    const broken = { ...file, handle: { read } as unknown as FileHandle }
    await expect(requireStable(broken)).rejects.toThrow(text)
    await file.handle.close()
  })

  test.each([
    ['no path', {}, 'Give the path of a file as a text.'],
    ['a path that is a number', { path: 7 }, 'Give the path of a file as a text.'],
    ['an empty path', { path: '' }, 'Give the path of a file.'],
    ['a path with a zero byte', { path: 'charts\0.png' }, 'Give the path of a file.'],
    ['a caption that is an object', { path: 'x', caption: {} }, 'Give the caption as a text.'],
    [
      'a long caption',
      { path: 'x', caption: 'x'.repeat(1025) },
      'The caption has 1025 characters. At most 1024 can be sent.',
    ],
  ])('%s', async (_, input, text) => {
    expect(await client.callTool({ name: 'send_file', arguments: input })).toEqual(refusal(text))
  })

  test('another tool', async () => {
    expect(await client.callTool({ name: 'read_file' })).toEqual(refusal('There is no tool named read_file.'))
  })
})

describe('while a file is read,', () => {
  const changed = (name: string) => `The file "${name}" changed while it was read. Send it once it is complete.`

  /** Opens the file, lets something happen to it, and reads it. Resolves with the refusal, or undefined. */
  async function happening(name: string, happens: (path: string) => void): Promise<string | undefined> {
    write(name, 'x'.repeat(200_000))
    // Of an earlier time than anything that happens to it: the clock of a file system is coarse.
    utimesSync(join(project, name), 1, 1)
    const file = await openInProject(name, { project, maxBytes: 1_000_000 })
    happens(file.path)
    const refused = await requireStable(file).catch((error: Error) => error.message)
    await file.handle.close()
    return refused ?? undefined
  }

  test('nothing may change', async () => {
    expect(await happening('calm.txt', () => {})).toBeUndefined()
    expect(await happening('grown.txt', (path) => appendFileSync(path, 'more'))).toBe(changed('grown.txt'))
    expect(await happening('cut.txt', (path) => writeFileSync(path, 'less'))).toBe(changed('cut.txt'))
    expect(await happening('rewritten.txt', (path) => writeFileSync(path, 'y'.repeat(200_000)))).toBe(
      changed('rewritten.txt'),
    )
  })

  test('it may not be replaced by another one', async () => {
    write('other.txt', 'x'.repeat(200_000))
    expect(await happening('replaced.txt', (path) => renameSync(join(project, 'other.txt'), path))).toBe(
      changed('replaced.txt'),
    )
  })

  test('it may not vanish, also if the content still has another name', async () => {
    const vanished = (name: string) => `The file "${name}" was removed while it was read.`
    expect(await happening('gone.txt', (path) => rmSync(path))).toBe(vanished('gone.txt'))
    const moved = await happening('moved.txt', (path) => {
      linkSync(path, `${path}.kept`)
      rmSync(path)
    })
    expect(moved).toBe(vanished('moved.txt'))
  })

  test('a writer that never stops does not keep the call from ending', async () => {
    write('log.txt', 'x'.repeat(20_000_000))
    const writer = setInterval(() => appendFileSync(join(project, 'log.txt'), 'more\n'), 1)
    await expect.poll(() => send('log.txt'), { timeout: 10_000 }).toEqual(refusal(changed('log.txt')))
    clearInterval(writer)
  })
})

describe('the program', () => {
  /** What it says, and its exit code, if its input is empty. */
  function run(cwd: string, ...args: string[]) {
    try {
      const env = { ...process.env, HOME: root }
      return {
        stdout: execFileSync(process.execPath, [bin, ...args], { cwd, env, input: '', stdio: 'pipe' }).toString(),
      }
    } catch (error) {
      const { status, stderr } = error as { readonly status: number; readonly stderr: Buffer }
      return { status, stderr: stderr.toString() }
    }
  }

  test('lists its one tool', async () => {
    expect((await client.listTools()).tools).toMatchObject([
      {
        name: 'send_file',
        inputSchema: { required: ['path'] },
        annotations: { readOnlyHint: true, openWorldHint: true },
      },
    ])
  })

  test('ends with its input', () => {
    expect(run(project)).toEqual({ stdout: '' })
  })

  test('shows its arguments', () => {
    expect(run(project, '--help').stdout).toMatch(/^Usage: reply-tools \[directory\]/)
  })

  test.each([
    [['missing'], /There is no directory .*shop\/missing\./],
    [['charts/sales 2026.png'], /There is no directory/],
    [['.', 'charts'], /Give one directory at most\./],
    [['--max-mb', 'many'], /--max-mb must be a number above 0, not "many"\./],
    [['--max-mb', '0'], /--max-mb must be a number above 0/],
    [['--force'], /'--force'/],
  ] as const)('refuses %j', (args, said) => {
    const { status, stderr } = run(project, ...args)
    expect([status, stderr]).toEqual([2, expect.stringMatching(said)])
    expect(stderr).toMatch(/^reply-tools: [^\n]+\n$/)
  })

  test('does not take the root or the home folder for a project, unless it is told to', () => {
    for (const folder of ['/', root]) {
      expect(run(folder)).toMatchObject({ status: 2, stderr: expect.stringContaining('too wide') })
      expect(run(project, folder)).toEqual({ stdout: '' })
    }
  })
})
