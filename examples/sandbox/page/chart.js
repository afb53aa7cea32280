/* The depth chart: the total amount up to each price.
 *
 * SPDX-License-Identifier: 0BSD */
import {grouped} from "/dom.js";

/* Returns the smallest step of 1, 2 or 5 times a power of ten from this on. */
function niceStep(least) {
    const power = 10 ** Math.floor(Math.log10(least));

    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least * 0.999);
}

function tickText(value, step) {
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));

    return grouped(value.toFixed(decimals));
}

/* Returns the levels of a side with the total of all as good or better. */
function cumulated(levels) {
    let total = 0;

    return levels.map((level) => {
        total += Number(level.amount);
        return {price: Number(level.price), total};
    });
}

export class DepthChart {
    constructor(canvas) {
        this.canvas = canvas;
        this.book = null;
        this.top = 0; // the largest amount on the axis
        this.span = 0; // of prices on each side of the middle
        this.draw = this.draw.bind(this);
        new ResizeObserver(this.draw).observe(canvas);
        matchMedia("(prefers-color-scheme: dark)")
            .addEventListener("change", this.draw);
    }

    /* Draws a book with levels on both sides; null clears the chart. */
    show(market, book) {
        const other = !this.book || this.market !== market;

        this.market = market;
        this.book = book;
        if (!book) {
            this.prepare();
            return;
        }
        this.bids = cumulated(book.bids);
        this.asks = cumulated(book.asks);
        this.setScale(other);
        this.draw();
    }

    /* Keeps the scale while the curves fill the chart well, so that it is easy
     * to read. */
    setScale(anew) {
        const {bids, asks} = this;
        const middle = (bids[0].price + asks[0].price) / 2;
        const reach = Math.min(middle - bids[bids.length - 1].price,
            asks[asks.length - 1].price - middle);
        const within = (level) => Math.abs(level.price - middle) <= reach;
        const most = Math.max(...[bids, asks].map((side) => Math.max(
            ...side.filter(within).map((level) => level.total), 0)));

        this.middle = middle;
        if (anew || reach < this.span || reach > this.span * 1.3) {
            this.span = reach * 0.92;
        }
        if (anew || most > this.top || most < this.top * 0.6) {
            this.top = most * 1.15;
        }
    }

    colour(name) {
        return getComputedStyle(this.canvas).getPropertyValue(name).trim();
    }

    /* Clears the canvas. Returns its context, scaled to CSS pixels. */
    prepare() {
        const ratio = window.devicePixelRatio || 1;
        const {clientWidth: width, clientHeight: height} = this.canvas;
        const context = this.canvas.getContext("2d");

        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        context.scale(ratio, ratio);
        context.font = `12px ${getComputedStyle(this.canvas).fontFamily}`;
        this.box = {left: 46, right: width, top: 44, bottom: height - 26};
        return context;
    }

    x(price) {
        const {left, right} = this.box;

        return left + (right - left) *
            (0.5 + (price - this.middle) / (2 * this.span));
    }

    y(total) {
        const {top, bottom} = this.box;

        return bottom - (bottom - top) * total / this.top;
    }

    draw() {
        if (!this.book || this.canvas.clientWidth === 0) {
            return;
        }
        const context = this.prepare();

        context.strokeStyle = this.colour("--line");
        context.fillStyle = this.colour("--quiet");
        context.lineWidth = 1;
        this.drawPrices(context);
        this.drawAmounts(context);
        this.drawSide(context, this.bids, this.box.left, "--bid");
        this.drawSide(context, this.asks, this.box.right, "--ask");
        this.drawMiddle(context);
        this.canvas.dataset.scale = [this.middle - this.span,
            this.middle + this.span, this.top].join(" ");
    }

    drawPrices(context) {
        const {left, right, bottom} = this.box;
        const step = niceStep(2 * this.span / Math.max(2, right / 75));
        const first = Math.ceil((this.middle - this.span) / step);

        context.textAlign = "center";
        context.textBaseline = "top";
        context.beginPath();
        context.moveTo(left, bottom + 0.5);
        context.lineTo(right, bottom + 0.5);
        for (let n = first; n * step <= this.middle + this.span; n++) {
            const x = Math.round(this.x(n * step)) + 0.5;
            const text = tickText(n * step, step);
            const half = context.measureText(text).width / 2;

            context.moveTo(x, bottom);
            context.lineTo(x, bottom + 5);
            if (x - half >= left && x + half <= right) {
                context.fillText(text, x, bottom + 10);
            }
        }
        context.stroke();
    }

    /* Draws a side: from the middle outwards, with a step at each level. */
    drawSide(context, levels, edge, name) {
        const colour = this.colour(name);
        const base = this.box.bottom;
        const first = this.x(levels[0].price);

        context.save();
        context.beginPath();
        context.rect(this.box.left, 0, this.box.right - this.box.left,
            base + 1);
        context.clip();
        context.beginPath();
        context.moveTo(first, base);
        levels.forEach((level, i) => {
            const next = levels[i + 1];
            const end = next ? this.x(next.price) : edge;

            context.lineTo(this.x(level.price), this.y(level.total));
            context.lineTo(end, this.y(level.total));
        });
        context.strokeStyle = colour;
        context.lineWidth = 2;
        context.lineJoin = "round";
        context.stroke();
        context.lineTo(this.x(levels[levels.length - 1].price), base);
        context.lineTo(edge, base);
        context.closePath();
        context.globalAlpha = 0.16;
        context.fillStyle = colour;
        context.fill();
        context.restore();
    }

    drawMiddle(context) {
        const x = Math.round((this.box.left + this.box.right) / 2) + 0.5;
        const {bids, asks} = this.book;
        const decimals = (bids[0].price.split(".")[1] || "").length + 1;
        const spread = Number(asks[0].price) - Number(bids[0].price);

        context.strokeStyle = this.colour("--quiet");
        context.setLineDash([2, 4]);
        context.beginPath();
        context.moveTo(x, this.box.top);
        context.lineTo(x, this.box.bottom);
        context.stroke();
        context.setLineDash([]);
        context.textBaseline = "alphabetic";
        this.write(context, "12px", "--quiet", "center",
            `spread ${grouped(spread.toFixed(decimals - 1))}`, x, 36);
        this.write(context, "600 17px", "--ink", "center",
            grouped(this.middle.toFixed(decimals)), x, 18);
        this.write(context, "600 12px", "--bid-ink", "left", "Bids", 0, 18);
        this.write(context, "600 12px", "--ask-ink", "right", "Asks",
            this.box.right, 18);
    }

    write(context, font, colour, align, text, x, y) {
        context.font = `${font} ${getComputedStyle(this.canvas).fontFamily}`;
        context.fillStyle = this.colour(colour);
        context.textAlign = align;
        context.fillText(text, x, y);
    }

    drawAmounts(context) {
        const {left, right, bottom} = this.box;
        const step = niceStep(this.top / 6);

        context.textAlign = "left";
        context.textBaseline = "top";
        context.fillText("price", 0, bottom + 10);
        context.textBaseline = "middle";
        context.fillText("amount", 0, 32);
        context.textAlign = "right";
        context.beginPath();
        for (let n = 1; n * step < this.top; n++) {
            const y = Math.round(this.y(n * step)) + 0.5;

            context.moveTo(left, y);
            context.lineTo(right, y);
            context.fillText(tickText(n * step, step), left - 8, y);
        }
        context.stroke();
    }
}
