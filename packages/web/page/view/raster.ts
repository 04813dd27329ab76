/** The types of pictures that browsers show and that hold no code. SVG does. */
const raster = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/i

/** Whether pictures of this type may be shown. */
export function isRaster(mime: string): boolean {
  return raster.test(mime)
}

/** Returns an address of data if it is that of a picture which may be shown. Undefined otherwise. */
export function rasterOf(url: string): string | undefined {
  const [, mime] = /^data:([^;,]*);base64,[A-Za-z0-9+/=_-]+$/i.exec(url) ?? []
  return mime !== undefined && isRaster(mime) ? url : undefined
}
