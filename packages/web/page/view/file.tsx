import type { ReplyFile } from '@reply/core'
import { escapeInvisible } from '@reply/core'
import { byteSize, fileFacts } from '@reply/core/show'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { useView } from './context.ts'
import { Icon } from './icons.tsx'
import { memo } from './memo.ts'
import { isRaster, rasterOf } from './raster.ts'

/** Files of a call or an answer. */
export function Files({ files }: { readonly files: readonly ReplyFile[] }): ComponentChildren {
  return files.map((file) => <FileFigure key={file.id} file={file} />)
}

/** Larger pictures, in bytes, are only loaded on demand. */
const mostShown = 10_000_000

/** A file: shown if it is a picture, otherwise to be saved. */
export const FileFigure = memo(({ file }: { readonly file: ReplyFile }): ComponentChildren => {
  const load = useView().sources().file
  const { name, size, caption } = fileFacts(file)
  const data = /^data:/i.test(file.url)
  const own = rasterOf(file.url)
  const canLoad = !data && load !== undefined
  const [address, setAddress] = useState(own)
  const [problem, setProblem] = useState<string>()
  const isPicture = isRaster(file.mime)
  const loadsAtOnce = isPicture && own === undefined && canLoad && (size ?? 0) <= mostShown
  useEffect(() => {
    if (!loadsAtOnce) return
    let url: string | undefined
    let isGone = false
    load(file.id).then(
      (bytes) => {
        if (isGone) return
        url = URL.createObjectURL(new Blob([bytes], { type: file.mime }))
        setAddress(url)
      },
      (error: unknown) => setProblem(error instanceof Error ? error.message : texts.unknownError),
    )
    return () => {
      isGone = true
      if (url !== undefined) URL.revokeObjectURL(url)
    }
  }, [file.id, loadsAtOnce])
  const save = async (): Promise<void> => {
    try {
      const bytes = data ? await bytesOf(file.url) : await load?.(file.id)
      if (bytes) saveAs(bytes, name)
    } catch (error) {
      setProblem(error instanceof Error ? error.message : texts.unknownError)
    }
  }
  const label = escapeInvisible(name)
  return (
    <figure class="file-figure">
      {address !== undefined && <img src={address} alt={caption ?? label} onError={() => setAddress(undefined)} />}
      <figcaption>
        <Icon name="file" />
        <span class="path">{label}</span>
        {size !== undefined && <span class="quiet">{byteSize(size)}</span>}
        {(data || canLoad) && (
          <button type="button" class="link" onClick={() => void save()}>
            {texts.save}
            <span class="visually-hidden"> {label}</span>
          </button>
        )}
        {caption !== undefined && <span class="caption">{escapeInvisible(caption)}</span>}
        {problem !== undefined && (
          <span role="alert" class="problem">
            {problem}
          </span>
        )}
      </figcaption>
    </figure>
  )
})

/** Returns the bytes of a `data:` address, which the page decodes itself: its policy lets it fetch none. */
async function bytesOf(url: string): Promise<Uint8Array<ArrayBuffer>> {
  const [, head = '', content = ''] = /^data:([^,]*),(.*)$/s.exec(url) ?? []
  if (!/;\s*base64\s*$/i.test(head)) return new TextEncoder().encode(decodeURIComponent(content))
  return Uint8Array.from(atob(content.replace(/-/g, '+').replace(/_/g, '/')), (character) => character.charCodeAt(0))
}

/** Saves bytes as a file. Its type is that of any bytes, so that no browser shows it as a page. */
function saveAs(bytes: Uint8Array<ArrayBuffer>, name: string): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
