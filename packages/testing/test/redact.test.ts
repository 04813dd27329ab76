import { expect, test } from 'vitest'
import { redact } from '../src/internal.ts'

const machine = {
  root: '/var/folders/x/reply-1',
  directory: '/var/folders/x/reply-1/project',
  home: '/var/folders/x/reply-1/home',
  serverPort: 50123,
  modelPort: 50124,
}

test('project, home and temporary folder get fixed names', () => {
  expect(redact('a /var/folders/x/reply-1/project/b', machine)).toBe('a /project/b')
  expect(redact('/var/folders/x/reply-1/home/.cache', machine)).toBe('/home/user/.cache')
  expect(redact('/var/folders/x/reply-1/other', machine)).toBe('/tmp/reply/other')
  expect(redact('var/folders/x/reply-1/project/*', machine)).toBe('project/*')
})

test('paths in queries and ports are also replaced', () => {
  expect(redact(`?directory=${encodeURIComponent(machine.directory)}`, machine)).toBe('?directory=%2Fproject')
  expect(redact('http://127.0.0.1:50123 http://127.0.0.1:50124/v1', machine)).toBe(
    'http://127.0.0.1:4096 http://127.0.0.1:4095/v1',
  )
})

test('Windows paths are found as JSON escapes them', () => {
  const windows = {
    ...machine,
    directory: 'C:\\Temp\\reply-1\\project',
    root: 'C:\\Temp\\reply-1',
    home: 'C:\\Temp\\reply-1\\home',
  }
  expect(redact('{"cwd":"C:\\\\Temp\\\\reply-1\\\\project"}', windows)).toBe('{"cwd":"/project"}')
})
