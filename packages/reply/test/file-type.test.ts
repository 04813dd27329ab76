import { expect, test } from 'vitest'
import { fileTypeOf, takenKinds, takesOf } from '../src/source/file-type.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')

test.each([
  ['a PNG that is called a JPEG', bytes('\x89PNG\r\n\x1a\n'), 'image/jpeg', 'image', 'image/png'],
  ['a JPEG', bytes('\xff\xd8\xff\xe0'), 'application/octet-stream', 'image', 'image/jpeg'],
  ['a GIF', bytes('GIF89a'), '', 'image', 'image/gif'],
  ['a WebP', bytes('RIFF\0\0\0\0WEBPVP8 '), '', 'image', 'image/webp'],
  ['a PDF', bytes('%PDF-1.7'), 'text/plain', 'pdf', 'application/pdf'],
  ['JSON', bytes('{}'), 'application/json', 'text', 'text/plain'],
  ['an SVG', bytes('<svg/>'), 'image/svg+xml', 'text', 'text/plain'],
  ['what only says that it is a picture', bytes('\0\0\0\x18ftypheic'), 'image/heic', undefined, 'image/heic'],
  ['an archive', bytes('PK\x03\x04\0'), 'text/plain', undefined, 'text/plain'],
  ['a text that is not UTF-8', bytes('\xff'), 'text/plain', undefined, 'text/plain'],
  ['nothing', bytes(''), 'text/plain', undefined, 'text/plain'],
  ['a sound', bytes('OggS'), 'audio/ogg', 'audio', 'audio/ogg'],
  ['a video', bytes('ftyp'), 'video/mp4', 'video', 'video/mp4'],
] as const)('the type of %s is found by its content', (_, content, reported, kind, mime) => {
  expect(fileTypeOf(content, reported)).toEqual({ kind, mime })
})

const reads = (...kinds: readonly string[]) => takenKinds((kind) => kinds.includes(kind))

test('a model takes what the list says, and an unknown one what any of the list does', () => {
  const models = [
    { providerID: 'p', modelID: 'a', takes: reads('image') },
    { providerID: 'p', modelID: 'b', takes: reads('pdf') },
  ]
  expect(takesOf(models, { providerID: 'p', modelID: 'a' })).toEqual(['text', 'image'])
  expect(takesOf(models, { providerID: 'q', modelID: 'a' })).toEqual(['text', 'image', 'pdf'])
  expect(takesOf(models, undefined)).toEqual(['text', 'image', 'pdf'])
  expect(takesOf([...models, { providerID: 'p', modelID: 'c' }], undefined)).toBeUndefined()
  expect(takesOf([], undefined)).toBeUndefined()
})
