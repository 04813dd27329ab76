import { expect, test } from 'vitest'
import { imageSize } from '../src/port/image-size.ts'

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replace(/\s/g, ''), 'hex'))

test.each([
  ['a PNG', '89504e470d0a1a0a 0000000d 49484452 00000780 00000438', { mime: 'image/png', width: 1920, height: 1080 }],
  ['a GIF', '474946383961 8002 e001 f70000', { mime: 'image/gif', width: 640, height: 480 }],
  [
    'a JPEG with other segments before its frame',
    'ffd8 ffe00010 4a46494600010100000100010000 ffc40004 0000 ff ffc2 000b 08 01e0 0280 01011100',
    { mime: 'image/jpeg', width: 640, height: 480 },
  ],
  [
    'a lossy WebP',
    '52494646 24000000 57454250 56503820 18000000 300100 9d012a 8002 e001',
    { mime: 'image/webp', width: 640, height: 480 },
  ],
  [
    'a lossless WebP',
    '52494646 24000000 57454250 5650384c 18000000 2f 7fc27700',
    { mime: 'image/webp', width: 640, height: 480 },
  ],
  [
    'an extended WebP',
    '52494646 24000000 57454250 56503858 0a000000 10000000 7f0200 df0100',
    { mime: 'image/webp', width: 640, height: 480 },
  ],
])('%s has its size', (_, bytes, size) => {
  expect(imageSize(hex(bytes))).toEqual(size)
})

test.each([
  ['nothing', ''],
  ['a text', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"></svg>').toString('hex')],
  ['a PNG that ends before its size', '89504e470d0a1a0a 0000000d 49484452 0000'],
  ['a JPEG whose segments lead nowhere', 'ffd8 ffe00010 4a46'],
  ['a JPEG with a segment without length', `ffd8 ${'ffe00000'.repeat(4)}`],
])('%s has none', (_, bytes) => {
  expect(imageSize(hex(bytes))).toBeUndefined()
})
