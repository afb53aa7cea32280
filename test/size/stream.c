/*
 * Streams a market without a book: shows each level, best price and trade.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "stream.h"

static void show_level(const struct mst_level *level) {
    board_show_price((enum mst_side)level->side, mst_level_price(level),
                     mst_level_amount(level));
}

static void show(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_PART:
        for (size_t i = 0; i < event->as.part.count; i++) {
            show_level(&event->as.part.levels[i]);
        }
        break;
    case MST_EVENT_TOP:
        if (event->as.top.has_bid && event->as.top.has_ask) {
            show_level(&event->as.top.bid);
            show_level(&event->as.top.ask);
        }
        break;
    default: break;
    }
}

int main(void) {
    return stream_run(NULL, show) < 0;
}
