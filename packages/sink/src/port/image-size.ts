/** The type and the size of a picture, by its bytes. */
export interface ImageSize {
  /** Its media type. */
  readonly mime: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
  /** In pixels. */
  readonly width: number
  /** In pixels. */
  readonly height: number
}

/**
 * Returns the type and size of a PNG, JPEG, GIF or WebP. Undefined for anything else, also for a picture that is cut off in its
 * first fields. It reads the bytes, because a name or a type that an agent gave may be wrong, and platforms refuse pictures
 * of some types and sizes.
 */
export function imageSize(bytes: Uint8Array): ImageSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    return pngSize(view) ?? gifSize(view) ?? webpSize(view) ?? jpegSize(view)
  } catch (error) {
    // It ends before its size.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Whether the ASCII text is at that position. */
function hasText(view: DataView, at: number, text: string): boolean {
  return [...text].every((character, index) => view.getUint8(at + index) === character.charCodeAt(0))
}

/** https://www.w3.org/TR/png-3/#11IHDR */
function pngSize(view: DataView): ImageSize | undefined {
  if (view.getUint32(0) !== 0x89504e47 || !hasText(view, 12, 'IHDR')) return undefined
  return { mime: 'image/png', width: view.getUint32(16), height: view.getUint32(20) }
}

/** https://www.w3.org/Graphics/GIF/spec-gif89a.txt, section 18 */
function gifSize(view: DataView): ImageSize | undefined {
  if (!hasText(view, 0, 'GIF8')) return undefined
  return { mime: 'image/gif', width: view.getUint16(6, true), height: view.getUint16(8, true) }
}

/** https://developers.google.com/speed/webp/docs/riff_container */
function webpSize(view: DataView): ImageSize | undefined {
  if (!hasText(view, 0, 'RIFF') || !hasText(view, 8, 'WEBPVP8')) return undefined
  const mime = 'image/webp'
  switch (String.fromCharCode(view.getUint8(15))) {
    case 'X':
      return { mime, width: 1 + uint24(view, 24), height: 1 + uint24(view, 27) }
    case 'L': {
      const bits = view.getUint32(21, true)
      return { mime, width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) }
    }
    default:
      return { mime, width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
  }
}

/** Reads three bytes, the lowest first. */
function uint24(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
}

/** Reads segments until the one with the frame's size. https://www.w3.org/Graphics/JPEG/itu-t81.pdf, B.1.1.3 and B.2.2 */
function jpegSize(view: DataView): ImageSize | undefined {
  if (view.getUint16(0) !== 0xffd8) return undefined
  let at = 2
  for (;;) {
    if (view.getUint8(at) !== 0xff) return undefined
    const marker = view.getUint8(at + 1)
    // Any number of 0xff may stand before a marker.
    if (marker === 0xff) {
      at += 1
      continue
    }
    // 0xc4, 0xc8 and 0xcc are other segments than frames.
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc)
      return { mime: 'image/jpeg', width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
    at += 2 + view.getUint16(at + 2)
  }
}
