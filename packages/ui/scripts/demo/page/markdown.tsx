import { memo, type ReactNode } from 'react'
import { readMarkdown } from '../../../../bridge/scripts/demo/markdown.ts'
import type { Markup } from '../../../../bridge/scripts/demo/view.ts'

/** Shows Markdown. All of it becomes elements that this file names, and texts: HTML in it stays text. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }): ReactNode {
  return <div className="body">{nodes(readMarkdown(text))}</div>
})

function nodes(markups: readonly Markup[]): ReactNode {
  return markups.map((markup, index) => nodeOf(markup, index))
}

/** Headings of an answer stay below those of the page. */
const headings = { h1: 'h3', h2: 'h4', h3: 'h5', h4: 'h6', h5: 'h6', h6: 'h6' } as const

function nodeOf(markup: Markup, key: number): ReactNode {
  if (typeof markup === 'string') return markup
  const { tag, children, href, language, align, isChecked, start } = markup
  switch (tag) {
    case 'a':
      // `readMarkdown` makes links of http, https and mailto alone.
      return (
        <a key={key} href={href} target="_blank" rel="noopener noreferrer nofollow">
          {nodes(children)}
        </a>
      )
    case 'pre':
      return <Code key={key} text={children.join('')} language={language} />
    case 'ol':
      return (
        <ol key={key} start={start}>
          {nodes(children)}
        </ol>
      )
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
        <div key={key} className="table" tabIndex={0}>
          <table>{nodes(children)}</table>
        </div>
      )
    case 'th':
    case 'td': {
      const Cell = tag
      return (
        <Cell key={key} data-align={align}>
          {nodes(children)}
        </Cell>
      )
    }
    case 'h1':
    case 'h2':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'h6': {
      const Heading = headings[tag]
      return <Heading key={key}>{nodes(children)}</Heading>
    }
    case 'check':
      return (
        <span key={key} role="img" aria-label={isChecked ? 'done' : 'not done'}>
          {isChecked ? '☑ ' : '☐ '}
        </span>
      )
    case 'hr':
    case 'br': {
      const Empty = tag
      return <Empty key={key} />
    }
    case 'lines':
    case 'spoiler':
    case 'mention':
      return <span key={key}>{nodes(children)}</span>
    case 'p':
    case 'ul':
    case 'li':
    case 'blockquote':
    case 'code':
    case 'strong':
    case 'em':
    case 'del':
    case 'u':
    case 'small':
    case 'thead':
    case 'tbody':
    case 'tr': {
      const Plain = tag
      return <Plain key={key}>{nodes(children)}</Plain>
    }
    default:
      return nodes(tag satisfies never)
  }
}

/** Shows code. The lines of a diff have the color of their kind. */
export function Code({ text, language }: { readonly text: string; readonly language?: string | undefined }): ReactNode {
  const lines = language === 'diff' ? text.trimEnd().split('\n') : undefined
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
    <pre tabIndex={0} data-language={language}>
      <code>
        {lines
          ? lines.map((line, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line has no other name.
              <span key={index} className={`diff-${kindOf(line)}`}>{`${line}\n`}</span>
            ))
          : text}
      </code>
    </pre>
  )
}

/** Returns the kind of a line of a diff. */
function kindOf(line: string): 'file' | 'place' | 'added' | 'removed' | 'same' {
  if (/^(?:\+\+\+|---|Index:|===)/.test(line)) return 'file'
  if (line.startsWith('@@')) return 'place'
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same'
}
