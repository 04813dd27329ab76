import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  observeWindowOffset,
  observeWindowRect,
  type VirtualItem,
  Virtualizer,
  windowScroll,
} from '@tanstack/virtual-core'
import { Component, type ComponentChildren, createRef, options as preact, type VNode } from 'preact'

/** Moves the reader in a list. */
export interface ListControl {
  /** Scrolls to a row, and focuses it unless the focus is to stay. */
  readonly goTo: (index: number, focus?: boolean) => void
  readonly goToEnd: () => void
  /** Keeps the reader's place for a moment, also at the end: something was unfolded there, which is read from its beginning. */
  readonly hold: () => void
  /** The index of the row with the focus, or else of the first one in view. */
  readonly current: () => number
}

interface ListProps {
  readonly count: number
  /** Names the row at a position as long as it exists. */
  readonly keyOf: (index: number) => string
  /** Renders a row. */
  readonly row: (index: number) => ComponentChildren
  /** The height of a row that was never rendered, in pixels. */
  readonly estimate: (index: number) => number
  /** Whether to begin at the end. */
  readonly beginsAtEnd: boolean
  /** Called when the rows in view are others, and with whether the end is in view. */
  readonly onView: (view: ListView) => void
  readonly control: (control: ListControl) => void
  readonly label: string
  /** The key of a row that stands out. */
  readonly marked?: string | undefined
}

/** What of a list is in view. */
export interface ListView {
  readonly first: number
  readonly last: number
  readonly isAtEnd: boolean
}

/** A reader this close to the end, in pixels, follows what comes. */
const nearEnd = 60

/** How long a place is kept after something was unfolded, in ms: until it was rendered and measured. */
const holdMs = 400

/**
 * A list of which only the rows in view are in the document. It keeps its place while rows above the view grow, and follows
 * the end while the reader is there. To print it, all rows are rendered.
 */
export class List extends Component<ListProps> {
  readonly #list = createRef<HTMLOListElement>()
  #scroller: Element | Window | undefined
  #virtual:
    | { readonly instance: Virtualizer<Window, Element> | Virtualizer<Element, Element>; update(): void }
    | undefined
  #isPrinted = false
  #view: ListView = { first: 0, last: 0, isAtEnd: true }
  #undo: (() => void)[] = []

  override componentDidMount(): void {
    const list = this.#list.current
    if (!list) return
    this.#scroller = scrollerOf(list)
    this.#virtual = this.#scroller instanceof Window ? this.#inWindow() : this.#inElement(this.#scroller)
    const { instance } = this.#virtual
    // What grows above the view must not move it, also right after the reader scrolled up.
    instance.shouldAdjustScrollPositionOnItemSizeChange = (item: VirtualItem) => {
      const offset = instance.scrollOffset ?? 0
      return instance.itemSizeCache.has(item.key) ? item.end <= offset : item.start < offset
    }
    this.#undo.push(instance._didMount())
    instance._willUpdate()
    const print = (isPrinted: boolean) => (): void => {
      this.#isPrinted = isPrinted
      renderAtOnce(() => this.forceUpdate())
    }
    this.#listen(window, 'beforeprint', print(true))
    this.#listen(window, 'afterprint', print(false))
    const resized = new ResizeObserver(() => this.#remeasure())
    if (list.parentElement) resized.observe(list.parentElement)
    this.#undo.push(() => resized.disconnect())
    this.props.control({
      goTo: (index, focus = true) => this.#goTo(index, focus),
      goToEnd: () => this.#virtual?.instance.scrollToEnd(),
      hold: () => this.#hold(),
      current: () => this.#current(),
    })
    if (this.props.beginsAtEnd) requestAnimationFrame(() => this.#virtual?.instance.scrollToEnd())
    this.forceUpdate()
  }

  override componentDidUpdate(): void {
    this.#virtual?.instance._willUpdate()
    if (this.#follows) this.#virtual?.instance.scrollToEnd()
    this.#follows = false
    this.#tellView()
  }

  override componentWillUnmount(): void {
    for (const undo of this.#undo) undo()
  }

  /** Whether rows came while the reader was at the end. */
  #follows = false
  #count = 0

  override render({ count, label }: ListProps): ComponentChildren {
    // The virtual list itself follows only if the last row is another one. Here that is always the state of the run.
    if (count !== this.#count) this.#follows = !this.#isHeld && this.#virtual?.instance.isAtEnd(nearEnd) === true
    this.#count = count
    this.#virtual?.update()
    const virtual = this.#virtual?.instance
    const all = this.#isPrinted || !virtual
    const items = all ? [] : virtual.getVirtualItems()
    const first = items[0]
    const last = items.at(-1)
    const margin = virtual?.options.scrollMargin ?? 0
    const above = first ? first.start - margin : 0
    const below = virtual && last && !all ? virtual.getTotalSize() - (last.end - margin) : 0
    const shown = this.#isPrinted ? Array.from({ length: count }, (_, index) => index) : items.map(({ index }) => index)
    return (
      <ol
        ref={this.#list}
        class="rows"
        aria-label={label}
        style={{ paddingTop: `${above}px`, paddingBottom: `${below}px` }}
      >
        {shown.map((index) => this.#itemOf(index))}
      </ol>
    )
  }

  /** Rows that were made since the properties changed. The same ones are not looked into again when only the place changes. */
  #items: { readonly of: ListProps; readonly made: Map<number, VNode> } | undefined

  #itemOf(index: number): VNode {
    const { keyOf, row, count, marked } = this.props
    if (this.#items?.of !== this.props) this.#items = { of: this.props, made: new Map() }
    const known = this.#items.made.get(index)
    if (known) return known
    const item = (
      <li
        key={keyOf(index)}
        class={marked !== undefined && keyOf(index) === marked ? 'row marked' : 'row'}
        data-index={index}
        tabIndex={-1}
        ref={this.#measure}
        aria-posinset={index + 1}
        aria-setsize={count}
      >
        {row(index)}
      </li>
    )
    this.#items.made.set(index, item)
    return item
  }

  readonly #measure = (element: HTMLLIElement | null): void => this.#virtual?.instance.measureElement(element)

  /** The height of a row. It stays what it was while the list is hidden. */
  readonly #sizeOf: typeof measureElement = (element, entry, virtual) => {
    if (element.getClientRects().length > 0) return measureElement(element, entry, virtual)
    const index = virtual.indexFromElement(element)
    return virtual.itemSizeCache.get(this.#keyAt(index)) ?? this.props.estimate(index)
  }

  readonly #keyAt = (index: number): string => this.props.keyOf(index)

  #common() {
    return {
      count: this.props.count,
      getItemKey: this.#keyAt,
      estimateSize: this.props.estimate,
      overscan: 6,
      measureElement: this.#sizeOf,
      anchorTo: this.#isHeld ? 'start' : 'end',
      scrollEndThreshold: nearEnd,
      scrollMargin: this.#margin,
      // The bar at the top covers this much.
      scrollPaddingStart: 64,
      scrollPaddingEnd: 16,
      onChange: () => {
        this.forceUpdate()
      },
    } as const
  }

  #inWindow() {
    const options = () => ({
      ...this.#common(),
      getScrollElement: () => window,
      observeElementRect: observeWindowRect,
      observeElementOffset: observeWindowOffset,
      scrollToFn: windowScroll,
      initialOffset: () => window.scrollY,
    })
    const instance = new Virtualizer<Window, Element>(options())
    return { instance, update: () => instance.setOptions(options()) }
  }

  #inElement(scroller: Element) {
    const options = () => ({
      ...this.#common(),
      getScrollElement: () => scroller,
      observeElementRect,
      observeElementOffset,
      scrollToFn: elementScroll,
    })
    const instance = new Virtualizer<Element, Element>(options())
    return { instance, update: () => instance.setOptions(options()) }
  }

  #margin = 0

  /** Notes how much is above the list in what scrolls. */
  #remeasure(): void {
    const list = this.#list.current
    if (!list || !this.#scroller) return
    const top = list.getBoundingClientRect().top
    const margin =
      this.#scroller instanceof Window
        ? top + window.scrollY
        : top - this.#scroller.getBoundingClientRect().top + this.#scroller.scrollTop
    if (Math.abs(margin - this.#margin) < 1) return
    this.#margin = margin
    this.forceUpdate()
  }

  #isHeld = false

  #hold(): void {
    this.#isHeld = true
    setTimeout(() => {
      this.#isHeld = false
    }, holdMs)
  }

  #goTo(index: number, hasFocus: boolean): void {
    this.#virtual?.instance.scrollToIndex(index, { align: 'start' })
    if (!hasFocus) return
    // It may not be rendered before the frame after the scroll.
    let tries = 0
    const focus = (): void => {
      const element = this.#rowAt(index)
      if (element) element.focus({ preventScroll: true })
      else if (tries++ < 20) requestAnimationFrame(focus)
    }
    requestAnimationFrame(focus)
  }

  #rowAt(index: number): HTMLElement | undefined {
    return this.#list.current?.querySelector<HTMLElement>(`:scope > [data-index="${index}"]`) ?? undefined
  }

  #current(): number {
    const focused = document.activeElement?.closest<HTMLElement>('.row')
    if (focused && this.#list.current?.contains(focused)) return Number(focused.dataset.index)
    return this.#view.first
  }

  #tellView(): void {
    const virtual = this.#virtual?.instance
    if (!virtual) return
    const range = virtual.range
    const next = { first: range?.startIndex ?? 0, last: range?.endIndex ?? 0, isAtEnd: virtual.isAtEnd(nearEnd) }
    const { first, last, isAtEnd } = this.#view
    if (next.first === first && next.last === last && next.isAtEnd === isAtEnd) return
    this.#view = next
    this.props.onView(next)
  }

  #listen(target: EventTarget, type: string, listener: () => void): void {
    target.addEventListener(type, listener)
    this.#undo.push(() => target.removeEventListener(type, listener))
  }
}

/** Returns what scrolls around an element. */
function scrollerOf(element: Element): Element | Window {
  for (let outer = element.parentElement; outer && outer !== document.body; outer = outer.parentElement)
    if (/auto|scroll/.test(getComputedStyle(outer).overflowY)) return outer
  return window
}

/** Renders what an update changes before this returns. The browser prints right after. */
function renderAtOnce(update: () => void): void {
  const { debounceRendering } = preact
  preact.debounceRendering = (render) => render()
  update()
  if (debounceRendering) preact.debounceRendering = debounceRendering
  else delete preact.debounceRendering
}
