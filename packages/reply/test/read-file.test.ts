import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ReplyError } from '@reply/core'
import { readReplyFile } from '@reply/core/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const maxBytes = 100
let root = ''
let directory = ''
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'reply-read-file-')))
  directory = join(root, 'project')
  mkdirSync(join(directory, 'sub'), { recursive: true })
  writeFileSync(join(root, 'secret.txt'), 'secret')
  mkdirSync(join(root, 'project-2'))
  writeFileSync(join(root, 'project-2', 'a.txt'), 'secret')
  writeFileSync(join(directory, 'a b.txt'), 'inside')
  writeFileSync(join(directory, '..a.txt'), 'dots')
  writeFileSync(join(directory, 'empty.txt'), '')
  writeFileSync(join(directory, 'full.txt'), 'x'.repeat(maxBytes))
  writeFileSync(join(directory, 'over.txt'), 'x'.repeat(maxBytes + 1))
  writeFileSync(join(directory, 'huge.bin'), '')
  truncateSync(join(directory, 'huge.bin'), 2 ** 31)
  symlinkSync('a b.txt', join(directory, 'link.txt'))
  symlinkSync(join(root, 'secret.txt'), join(directory, 'out.txt'))
  symlinkSync(root, join(directory, 'up'))
  symlinkSync('loop', join(directory, 'loop'))
  symlinkSync('/dev/zero', join(directory, 'zero'))
  symlinkSync(directory, join(root, 'alias'))
  execFileSync('mkfifo', [join(directory, 'pipe')])
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

const file = (url: string, filename?: string) => ({ id: 'f', mime: 'text/plain', url, filename })

async function textOf(url: string, home: string | undefined = directory): Promise<string> {
  return Buffer.from(await readReplyFile(file(url), { directory: home, maxBytes })).toString()
}

async function refusal(url: string, home: string | undefined = directory): Promise<string> {
  const error: unknown = await textOf(url, home).catch((reason: unknown) => reason)
  return error instanceof ReplyError ? `${error.type}: ${error.message}` : `read: ${String(error)}`
}

describe('a file of this computer', () => {
  test.each([
    ['by its path', () => join(directory, 'a b.txt'), 'inside'],
    ['by a relative path', () => 'a b.txt', 'inside'],
    ['by a path that leaves and comes back', () => 'sub/../../project/a b.txt', 'inside'],
    ['by its address', () => pathToFileURL(join(directory, 'a b.txt')).href, 'inside'],
    ['through a link inside', () => 'link.txt', 'inside'],
    ['whose name begins with two dots', () => '..a.txt', 'dots'],
    ['that is empty', () => 'empty.txt', ''],
    ['that is as large as the limit', () => 'full.txt', 'x'.repeat(maxBytes)],
  ])('is read %s', async (_, url, text) => {
    expect(await textOf(url())).toBe(text)
    expect(await textOf(url(), join(root, 'alias'))).toBe(text)
  })

  test.each([
    ['that has vanished', 'gone.txt', 'unreadable: The file gone.txt is not there any more.'],
    ['below a file', 'a b.txt/x', 'unreadable: The file x is not there any more.'],
    ['outside', '../secret.txt', "unreadable: The file secret.txt is outside of its session's directory."],
    ['beside', '../project-2/a.txt', "unreadable: The file a.txt is outside of its session's directory."],
    ['of the system', '/etc/passwd', "unreadable: The file passwd is outside of its session's directory."],
    ['that is a link out', 'out.txt', "unreadable: The file out.txt is a link out of its session's directory."],
    ['behind a link out', 'up/secret.txt', "unreadable: The file secret.txt is a link out of its session's directory."],
    ['that is a link to a device', 'zero', "unreadable: The file zero is a link out of its session's directory."],
    ['that is a link to itself', 'loop', 'unreadable: The file loop is a link that leads to itself.'],
    ['that is a folder', 'sub', 'unreadable: The file sub is a folder.'],
    ['that is the directory', '.', 'unreadable: The file . is a folder.'],
    ['that is a pipe', 'pipe', 'unreadable: The file pipe is a pipe.'],
    [
      'that is too large',
      'over.txt',
      'too-large: The file over.txt is too large: it has 101 B, and the limit is 100 B. It lies at over.txt,',
    ],
    [
      'of 2 GB',
      'huge.bin',
      'too-large: The file huge.bin is too large: it has 2.2 GB, and the limit is 100 B. It lies at huge.bin,',
    ],
    ['with a zero byte', 'a\0b', 'unreadable: The file a\\u0000b has a name that no file can have.'],
    ['with a hidden zero byte', 'file:///a%00b', 'unreadable: The file a\\u0000b has a name that no file can have.'],
    ['of another computer', 'file://host/a.txt', 'unreadable: The file a.txt has a malformed `file:` URL'],
    ['with a hidden slash', 'file:///a%2fb', 'unreadable: The file b has a malformed `file:` URL'],
    [
      'with a name of 300 characters',
      'n'.repeat(300),
      `unreadable: The file ${'n'.repeat(79)}… has a name that is too`,
    ],
  ])('is refused %s', async (_, url, message) => {
    expect(await refusal(url)).toContain(message)
  })

  test('is refused if it is a socket', async () => {
    const server = createServer().listen(join(directory, 'socket'))
    await new Promise((done) => server.once('listening', done))
    expect(await refusal('socket')).toBe('unreadable: The file socket is a socket.')
    await new Promise((done) => server.close(done))
  })

  test.skipIf(process.getuid?.() !== 0)('is refused if it is a device', async () => {
    execFileSync('mknod', [join(directory, 'device'), 'c', '1', '5'])
    expect(await refusal('device')).toBe('unreadable: The file device is a device.')
  })

  test('is refused without a directory, and in one that is gone or the root', async () => {
    const { message } = await readReplyFile(file('/etc/hostname'), { directory: undefined, maxBytes }).then(
      () => new Error('It was read.'),
      (error: Error) => error,
    )
    expect(message).toContain("is not on this computer, or its session's directory is unknown.")
    expect(await refusal('a.txt', join(root, 'gone'))).toBe(
      `unreadable: The file a.txt can't be read: its session's directory ${join(root, 'gone')} is not on this computer.`,
    )
    expect(await refusal('/proc/self/environ', '/')).toContain('its session works in the root of all files')
  })

  test('that is swapped for a link again and again is never read outside', async () => {
    const inner = join(directory, 'swap')
    mkdirSync(inner)
    writeFileSync(join(inner, 'secret.txt'), 'inside')
    symlinkSync(root, join(directory, 'evil'))
    let isOver = false
    const swapping = (async () => {
      while (!isOver) {
        renameSync(inner, join(directory, 'kept'))
        renameSync(join(directory, 'evil'), inner)
        await new Promise(setImmediate)
        renameSync(inner, join(directory, 'evil'))
        renameSync(join(directory, 'kept'), inner)
        await new Promise(setImmediate)
      }
    })()
    const seen = new Set<string>()
    for (let at = 0; at < 300 || seen.size < 2; at++) seen.add(await textOf('swap/secret.txt').catch(() => 'refused'))
    isOver = true
    await swapping
    expect([...seen].toSorted()).toEqual(['inside', 'refused'])
  })

  test('is refused once it has grown beyond the limit while it is read', async () => {
    const path = join(directory, 'growing.txt')
    let waits = 0
    const readWhileItGrows = async (): Promise<string> => {
      writeFileSync(path, 'x')
      const reading = refusal(path)
      // Each try lets the reader come a little further before the file grows.
      waits = (waits + 1) % 200
      for (let at = 0; at < waits; at++) await new Promise(setImmediate)
      appendFileSync(path, 'x'.repeat(maxBytes))
      return await reading
    }
    const message = 'too-large: The file growing.txt grew beyond 100 B while it was read.'
    await expect.poll(readWhileItGrows, { interval: 0, timeout: 20_000 }).toBe(message)
  })

  test.runIf(process.platform === 'linux')('is refused if it has more than it says', async () => {
    expect(await refusal('status', '/proc/self')).toContain('grew beyond 100 B while it was read.')
  })
})

describe('the content of a reply', () => {
  test.each([
    ['data:,', ''],
    ['data:text/plain,a%20b%ff', 'a b\xff'],
    ['data:text/plain;base64,YSBi', 'a b'],
    ['DATA:text/plain;charset=utf-8;BASE64,YSBi', 'a b'],
    ['data:;base64,YQ==', 'a'],
    ['data:;base64,YQ', 'a'],
    ['data:;base64,YQ%3D%3D', 'a'],
    ['data:;base64,Y\nQ = =', 'a'],
    ['data:;base64,-_-_', '\xfb\xff\xbf'],
    [`data:,${'x'.repeat(maxBytes)}`, 'x'.repeat(maxBytes)],
  ])('%j is decoded', async (url, text) => {
    const bytes = await readReplyFile(file(url), { directory: undefined, maxBytes })
    expect(Buffer.from(bytes).toString('latin1')).toBe(text)
  })

  test.each([
    ['data:text/plain', 'unreadable: The file text/plain has a `data:` URL without content.'],
    ['data:;base64,a*b', 'unreadable: The file text/plain has a `data:` URL whose Base64 is malformed.'],
    ['data:;base64,AAAAA', 'unreadable: The file text/plain has a `data:` URL whose Base64 is malformed.'],
    [`data:,${'x'.repeat(maxBytes + 1)}`, 'too-large: The file text/plain is too large'],
    [`data:;base64,${'A'.repeat(136)}`, 'too-large: The file text/plain is too large'],
    [`data:;base64, ${'A'.repeat(136)}`, 'too-large: The file text/plain is too large'],
  ])('%j is refused', async (url, message) => {
    expect(await refusal(url, undefined)).toContain(message)
  })
})

describe('a file elsewhere', () => {
  test('on the web is refused, unless the rights download it', async () => {
    expect(await refusal('https://example.com/a.png')).toBe(
      'unreadable: The file a.png is on the web, and files are not downloaded from there.',
    )
    const asked: unknown[] = []
    const download = async (...request: readonly unknown[]) => {
      asked.push(request)
      return new Uint8Array([1])
    }
    const rights = { directory: undefined, maxBytes, download }
    expect(await readReplyFile(file('HTTP://example.com/a.png'), rights)).toEqual(new Uint8Array([1]))
    expect(asked).toEqual([['HTTP://example.com/a.png', maxBytes]])
    const large = { ...rights, download: async () => new Uint8Array(maxBytes + 1) }
    await expect(readReplyFile(file('https://example.com/a.png'), large)).rejects.toMatchObject({ type: 'too-large' })
  })

  test('of an unknown scheme is refused', async () => {
    expect(await refusal('notes:day/1.md')).toBe(
      'unreadable: The file 1.md has an address that only its agent can read: it begins with notes:.',
    )
  })

  test('is named without line breaks and hidden characters', async () => {
    const named = file('notes:1', 'a\u202e\nb.txt')
    await expect(readReplyFile(named, { directory, maxBytes })).rejects.toThrow(/^The file a\\u202e b\.txt has /)
  })
})
