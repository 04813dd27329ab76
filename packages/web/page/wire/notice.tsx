import type { ComponentChildren } from 'preact'
import './notice.css'

/** One sentence about the connection. The element is always there, so that screen readers say what changes in it. */
export function Notice({ text }: { readonly text: string | undefined }): ComponentChildren {
  return (
    <p class="notice" role="status" data-empty={text === undefined ? '' : undefined}>
      {text}
    </p>
  )
}
